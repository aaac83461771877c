// PlainTransport: bytes straight between the socket and the owner's memory.
//
// One receive takes whatever the socket holds, and one send all the pieces of a batch, so at depth
// the kernel is entered per batch. A Unix socket's receives into one place are paced.
//
// Everything else is as in transport.hpp.
#pragma once

#include <sys/socket.h>

#include <array>
#include <optional>

#include "driver/nbd/transmission/pacing.hpp"
#include "driver/nbd/transmission/transport.hpp"

namespace blkscope::nbd {

class PlainTransport final : public Transport {
  public:
    PlainTransport(TransportOwner& owner, Ring& ring, int socket);

    void receive(std::span<const iovec> places) override;
    void send(std::span<iovec> pieces, size_t bytes) override;

  private:
    void start_receive(bool may_hold);
    void received(int32_t result);
    void start_send();
    void sent(int32_t result);

    Operation<PlainTransport, &PlainTransport::received> receive_operation_{*this};
    std::array<iovec, places_max> places_{};
    msghdr receive_message_{};

    Operation<PlainTransport, &PlainTransport::sent> send_operation_{*this};
    msghdr send_message_{};

    std::optional<Pacing> pacing_;  // of a Unix socket
};

}  // namespace blkscope::nbd
