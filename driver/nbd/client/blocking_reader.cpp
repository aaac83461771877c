#include "driver/nbd/client/blocking_reader.hpp"

#include <array>
#include <cassert>

#include "driver/nbd/client/blocking_stream.hpp"
#include "driver/nbd/client/reply_parser.hpp"

namespace blkscope::nbd {
namespace {

// The only request. Its cookie is one that no requester gives.
class OneRead final : public OwedReplies {
  public:
    OneRead(uint64_t offset, std::span<std::byte> to) {
        reply_.request = {.type = Command::read, .offset = offset, .length = to.size()};
        reply_.data = to.data();
    }
    [[nodiscard]] const OwedReply& reply() const { return reply_; }

  private:
    OwedReply* find(uint64_t cookie) override {
        return cookie == reply_.request.cookie ? &reply_ : nullptr;
    }

    OwedReply reply_;
};

bool send_request(BlockingStream& stream, ReplyForm replies, const Request& request) {
    std::array<std::byte, extended_request_bytes> header{};
    if (replies == ReplyForm::extended) {
        encode_extended_request(header, request);
        return stream.send_all(header);
    }
    const auto compact = std::span(header).first<request_bytes>();
    encode_request(compact, request);
    return stream.send_all(compact);
}

}  // namespace

ReadEnd read_blocking(const RemoteConnection& connection, uint64_t offset, std::span<std::byte> to,
                      Deadline deadline) {
    assert(!to.empty());
    OneRead owed(offset, to);
    BlockingStream stream(connection, deadline);
    const RemoteExport& remote = connection.remote;
    if (!send_request(stream, remote.terms.replies, owed.reply().request)) return ReadEnd::lost;
    ReplyParser parser(remote.terms.replies, remote.allocation_id, owed);
    for (;;) {
        const size_t bytes = stream.receive_some(parser.place());
        if (bytes == 0) return ReadEnd::lost;
        parser.received(bytes);
        switch (parser.next()) {
            case ReplyParser::Event::need_bytes:
                break;
            case ReplyParser::Event::lost:
                return ReadEnd::lost;
            case ReplyParser::Event::answered:
                if (!parser.is_between_replies()) return ReadEnd::lost;
                return owed.reply().error == 0 ? ReadEnd::done : ReadEnd::failed;
        }
    }
}

}  // namespace blkscope::nbd
