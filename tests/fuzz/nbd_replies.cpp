// A server's bytes in the transmission phase, as our client takes them. The first byte chooses the
// form of the replies and the size of the pieces that the stream comes in. The stream follows, with
// answers to the requests below. Each request is answered at most once, and its memory ends where
// its data ends.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "driver/nbd/client/reply_parser.hpp"
#include "require.hpp"

namespace {

using namespace blkscope::nbd;

constexpr uint32_t context = 1;

// The cookies are 1 to the number of requests.
class Owed final : public OwedReplies {
  public:
    Owed() {
        constexpr std::array<Request, 8> asked{{{0, Command::read, 1, 0, 4096},
                                                {0, Command::write, 2, 0, 4096},
                                                {0, Command::flush, 3, 0, 0},
                                                {0, Command::trim, 4, 8192, 4096},
                                                {0, Command::write_zeroes, 5, 0, 4096},
                                                {0, Command::cache, 6, 0, 4096},
                                                {0, Command::block_status, 7, 0, 65536},
                                                {0, Command::read, 8, 65536, 16384}}};
        for (const Request& request : asked) replies_.push_back({.request = request});
        memory_.resize(asked.back().length);
        replies_.back().data = memory_.data();
        for (OwedReply& reply : replies_) {
            if (reply.request.type == Command::block_status) reply.extents = &list_;
        }
        answered_.resize(asked.size());
    }

    OwedReply* find(uint64_t cookie) override {
        if (cookie == 0 || cookie > replies_.size() || answered_[cookie - 1]) return nullptr;
        return &replies_[cookie - 1];
    }

    void take(const OwedReply& reply) {
        const uint64_t cookie = reply.request.cookie;
        require(!answered_[cookie - 1]);
        require(reply.covered <= reply.request.length);
        require(reply.errors <= ReplyParser::errors_max);
        require(reply.hole_count <= reply.holes.size());
        uint64_t listed = 0;
        for (const blkscope::Extent& extent : list_.items()) listed += extent.bytes;
        if (reply.extents != nullptr) require(listed == reply.covered);
        if (reply.request.type == Command::read && reply.error == 0) {
            require(reply.covered == reply.request.length);
        }
        answered_[cookie - 1] = true;
    }

  private:
    std::array<blkscope::Extent, 4> extents_{};
    blkscope::ExtentList list_{extents_};
    std::vector<OwedReply> replies_;
    std::vector<bool> answered_;
    std::vector<std::byte> memory_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    constexpr ReplyForm forms[] = {ReplyForm::simple, ReplyForm::structured, ReplyForm::extended,
                                   ReplyForm::structured};
    Owed owed;
    ReplyParser parser(forms[data[0] & 3], context, owed);
    const size_t piece = (data[0] & 4) != 0 ? 1 + (data[0] >> 3) : size;
    std::span rest = std::as_bytes(std::span(data + 1, size - 1));
    while (!rest.empty()) {
        const std::span<std::byte> place = parser.place();
        require(!place.empty());
        const size_t bytes = std::min({place.size(), piece, rest.size()});
        std::memcpy(place.data(), rest.data(), bytes);
        parser.received(bytes);
        rest = rest.subspan(bytes);
        for (;;) {
            const ReplyParser::Event event = parser.next();
            if (event == ReplyParser::Event::need_bytes) break;
            if (event == ReplyParser::Event::lost) {
                require(!parser.why().empty());
                require(parser.next() == ReplyParser::Event::lost);
                return 0;
            }
            owed.take(parser.answered());
        }
    }
    return 0;
}
