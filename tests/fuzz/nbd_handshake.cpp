// A client's bytes before it has an export. The first byte chooses the size of the pieces that the
// stream comes in, and whether exports are listed. The stream follows.
#include <algorithm>
#include <string>

#include "driver/nbd/handshake/handshake.hpp"
#include "require.hpp"

namespace {

using namespace blkscope::nbd;

constexpr uint64_t size_max = uint64_t{1} << 40;

Exports make_exports(bool listed) {
    return Exports({{.name = "disk",
                     .description = "a disk",
                     .size_bytes = size_max,
                     .transmission_flags = 0x0d6d,
                     .block_size = {}},
                    {.name = std::string(string_bytes_max, 'n'),
                     .description = {},
                     .size_bytes = 4096,
                     .transmission_flags = 0x0003,
                     .block_size = {},
                     .is_default = true}},
                   listed);
}

uint32_t number(std::span<const std::byte> from, size_t at) {
    return load_be<uint32_t>(from.subspan(at).first<4>());
}

// The server sends whole replies of legal lengths. The last may be the reply to EXPORT_NAME.
void check_sent(std::span<const std::byte> sent, bool may_end_in_transmission) {
    while (sent.size() >= option_reply_header_bytes &&
           load_be<uint64_t>(sent.first<8>()) == option_reply_magic) {
        const uint32_t bytes = number(sent, 16);
        const bool error = (number(sent, 12) >> 31) != 0;
        require(bytes <= (error ? string_bytes_max : 4 + 2 * string_bytes_max));
        require(bytes <= sent.size() - option_reply_header_bytes);
        sent = sent.subspan(option_reply_header_bytes + bytes);
    }
    constexpr size_t export_bytes = 10;
    const bool export_name =
        sent.size() == export_bytes || sent.size() == export_bytes + export_name_zeroes;
    require(sent.empty() || (may_end_in_transmission && export_name));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const Exports listed = make_exports(true);
    static const Exports hidden = make_exports(false);
    if (size == 0) return 0;
    const Exports& exports = (data[0] & 1) != 0 ? hidden : listed;
    const size_t piece = (data[0] & 2) != 0 ? 1 + (data[0] >> 2) : size;
    Handshake handshake(exports);
    std::span rest = std::as_bytes(std::span(data + 1, size - 1));
    while (!rest.empty()) {
        const size_t wanted = handshake.wanted();
        require(wanted > 0 && wanted <= 65536);
        const auto bytes = rest.first(std::min({wanted, piece, rest.size()}));
        const Step step = handshake.feed(bytes);
        rest = rest.subspan(bytes.size());
        check_sent(step.send, step.next == Step::Next::transmission);
        if (step.next == Step::Next::go_on) continue;
        require(handshake.wanted() == 0);
        if (step.next == Step::Next::transmission) {
            require(step.exp < exports.size());
            require(!step.terms.allocation || step.terms.replies != ReplyForm::simple);
        }
        break;
    }
    return 0;
}
