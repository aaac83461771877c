// PlainTransport: moves bytes directly between the socket and the owner's memory.
//
// A receive takes all that the socket holds. A send takes all pieces of a batch. At depth this
// means one system call per batch. A server's receives from a Unix socket into one place are paced
// (pacing.hpp).
//
// The rest is as in transport.hpp.
#pragma once

#include <sys/socket.h>

#include <optional>

#include "driver/nbd/transmission/pacing.hpp"
#include "driver/nbd/transmission/transport.hpp"

namespace blkscope::nbd {

class PlainTransport final : public Transport {
  public:
    /// Whether receives from a Unix socket are paced, as a server needs it.
    enum class Receives : uint8_t { paced, at_once };

    PlainTransport(TransportOwner& owner, Ring& ring, int socket,
                   Receives receives = Receives::paced);

    void send(std::span<iovec> pieces, size_t bytes) override;

  private:
    void receive_into_places() override;
    void start_receive(bool may_hold);
    void received(int32_t result);
    void start_send();
    void sent(int32_t result);

    Operation<PlainTransport, &PlainTransport::received> receive_operation_{*this};
    msghdr receive_message_{};

    Operation<PlainTransport, &PlainTransport::sent> send_operation_{*this};
    msghdr send_message_{};

    std::optional<Pacing> pacing_;  // of a server's Unix socket
};

}  // namespace blkscope::nbd
