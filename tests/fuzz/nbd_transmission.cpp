// A client's bytes once it has an export. The server is real: a worker with its ring, a socket and
// a device of memory. The first byte chooses the negotiated options. The stream follows.
//
// The parser alone reads the stream twice, in one piece and cut up: both must be the same requests.
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "driver/nbd/protocol.hpp"
#include "driver/nbd/server/export.hpp"
#include "driver/nbd/tls/tls_session.hpp"
#include "driver/nbd/transmission/worker.hpp"
#include "require.hpp"
#include "unit/driver/parser_driver.hpp"

namespace {

using namespace blkscope;
using namespace blkscope::nbd;

// Large enough for reads that look for holes, small enough for a client that reads it a hundred
// times.
constexpr const char* backing = "memory:128K";

class Served {
  public:
    Served() {
        char folder[] = "/tmp/fuzz_nbd.XXXXXX";
        require(mkdtemp(folder) != nullptr);
        folder_ = folder;
        setenv("KSTAT_DIR", folder, 1);
        for (const bool read_only : {false, true}) {
            exports_.push_back(
                worker_.make_export({.name = "memory",
                                     .description = {},
                                     .backing = open_backing(backing, {}),
                                     .instance = blkscope::kstat::claim_instance("nbd"),
                                     .read_only = read_only}));
        }
        worker_.start();
    }
    ~Served() {
        for (auto& exp : exports_) worker_.close_export(std::move(exp));
        worker_.stop();
        worker_.join({});
        std::filesystem::remove_all(folder_);
    }
    Served(const Served&) = delete;
    Served& operator=(const Served&) = delete;

    /// Plays a client that sends all of this and takes what it gets, to the end of the connection.
    std::vector<std::byte> play(std::span<const uint8_t> stream, bool read_only,
                                const Terms& terms) {
        int sockets[2];
        require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
        worker_.hand_over(*exports_[read_only ? 1 : 0], terms, sockets[1], nullptr);
        // The stream fits into the socket's buffer, or the rest is not sent.
        (void)send(sockets[0], stream.data(), stream.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        shutdown(sockets[0], SHUT_WR);
        std::vector<std::byte> taken;
        for (;;) {
            pollfd ready{sockets[0], POLLIN, 0};
            require(poll(&ready, 1, 20'000) == 1);  // or the server has forgotten the client
            std::byte part[65536];
            const ssize_t bytes = recv(sockets[0], part, sizeof part, 0);
            if (bytes <= 0) break;
            taken.insert(taken.end(), part, part + bytes);
        }
        close(sockets[0]);
        return taken;
    }

  private:
    std::string folder_;
    Worker worker_;
    std::vector<std::unique_ptr<Export>> exports_;
};

template <std::unsigned_integral T>
T number(std::span<const std::byte> from, size_t at) {
    return load_be<T>(from.subspan(at).first<sizeof(T)>());
}

// The length of the reply or chunk that the bytes begin with; 0 where they end before its header
// does. Only for clients that are told all lengths.
uint64_t frame_bytes(std::span<const std::byte> from, ReplyForm form) {
    if (from.size() < simple_reply_bytes) return 0;
    const auto magic = number<uint32_t>(from, 0);
    if (form == ReplyForm::structured && magic == simple_reply_magic) return simple_reply_bytes;
    if (form == ReplyForm::structured) {
        require(magic == structured_reply_magic);
        if (from.size() < structured_reply_bytes) return 0;
        return structured_reply_bytes + number<uint32_t>(from, 16);
    }
    require(magic == extended_reply_magic);
    if (from.size() < extended_reply_bytes) return 0;
    return extended_reply_bytes + number<uint64_t>(from, 24);
}

// A connection that is given up may end within a frame; up to there, all of it is frames.
void check_frames(std::span<const std::byte> taken, ReplyForm form) {
    while (!taken.empty()) {
        const uint64_t bytes = frame_bytes(taken, form);
        if (bytes == 0 || bytes > taken.size()) return;
        taken = taken.subspan(bytes);
    }
}

// In pieces of 1, 2, 3 ... bytes, which cut every header sooner or later.
void check_parser(std::string_view stream, bool read_only, const Terms& terms) {
    const RequestRules rules{.size_bytes = uint64_t{128} << 10,
                             .payload_bytes_max = Arena::piece_bytes_max,
                             .read_only = read_only,
                             .terms = terms};
    const auto whole = nbd::testing::play(rules, stream, [&] { return stream.size(); });
    size_t piece = 0;
    require(nbd::testing::play(rules, stream, [&] { return piece = piece % 61 + 1; }) == whole);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static Served served;
    if (size == 0) return 0;
    constexpr ReplyForm forms[] = {ReplyForm::simple, ReplyForm::structured, ReplyForm::extended,
                                   ReplyForm::extended};
    const Terms terms{.replies = forms[data[0] & 3],
                      .allocation = (data[0] & 4) != 0,
                      .block_sizes = (data[0] & 8) != 0};
    const bool read_only = (data[0] & 16) != 0;
    check_parser({reinterpret_cast<const char*>(data) + 1, size - 1}, read_only, terms);
    const auto taken = served.play({data + 1, size - 1}, read_only, terms);
    if (terms.replies != ReplyForm::simple) check_frames(taken, terms.replies);
    return 0;
}
