// A server's bytes before the transmission phase, as our client takes them. The first byte chooses
// what the client wishes, and the size of the pieces that the stream comes in. The stream follows.
#include <algorithm>

#include "driver/nbd/client/client_handshake.hpp"
#include "require.hpp"

namespace {

using namespace blkscope::nbd;

void check_remote(const RemoteExport& remote) {
    require(!remote.terms.allocation || remote.terms.replies != ReplyForm::simple);
    require(remote.block_size.minimum > 0);
    require(remote.block_size.maximum >= remote.block_size.minimum);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    constexpr ReplyForm forms[] = {ReplyForm::simple, ReplyForm::structured, ReplyForm::extended,
                                   ReplyForm::extended};
    ClientHandshake handshake({.export_name = "disk",
                               .replies_max = forms[data[0] & 3],
                               .allocation = (data[0] & 4) != 0});
    const size_t piece = (data[0] & 8) != 0 ? 1 + (data[0] >> 4) : size;
    std::span rest = std::as_bytes(std::span(data + 1, size - 1));
    while (!rest.empty()) {
        const size_t wanted = handshake.wanted();
        require(wanted > 0 && wanted <= ClientHandshake::reply_bytes_max);
        const auto bytes = rest.first(std::min({wanted, piece, rest.size()}));
        const ClientHandshake::Step step = handshake.feed(bytes);
        rest = rest.subspan(bytes.size());
        require(step.send.size() <= 4 * string_bytes_max);
        if (step.next == ClientHandshake::Next::go_on) continue;
        require(handshake.wanted() == 0);
        const bool failed = step.next == ClientHandshake::Next::failed;
        require(failed != handshake.failure().empty());
        require(handshake.failure().find('\n') == std::string::npos);
        if (!failed) check_remote(handshake.remote());
        break;
    }
    return 0;
}
