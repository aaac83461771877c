// Feeds any bytes to a server of HTTP over a socket. The client sends all at once and closes its direction.
//
// The server's replies are those that the parser of requests foretells, in order. There is one for each whole request, up to the
// first request that is refused or ends the connection. Built twice: with libFuzzer (BLKSCOPE_FUZZ), and into a test that runs the corpus and
// random bytes.
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

#include "base/descriptor.hpp"
#include "require.hpp"
#include "tools/web/request.hpp"
#include "tools/web/response.hpp"
#include "tools/web/server.hpp"

namespace {

using namespace blkscope;
using namespace blkscope::web;

// The server takes so many bytes at a time. With more, the time between two pieces decides how soon it sees that a head is
// hopeless.
constexpr size_t bytes_max = 4096;

Response response_to(const Request& request) {
    std::string text = request.path;
    for (const auto& [name, value] : request.query)
        text.append("&").append(name).append("=").append(value);
    return text_response(200, text);
}

class Echo : public Handler {
  public:
    Response respond(const Request& request) override { return response_to(request); }
    Body event() override { return std::make_shared<const std::string>(); }
    void end_turn() override {}
};

// A server on a Unix socket of the abstract namespace, until the process ends.
class RunningServer {
  public:
    RunningServer() : server_(listen(), echo_), thread_([this] { server_.run(); }) {}
    ~RunningServer() {
        server_.stop();
        thread_.join();
    }
    RunningServer(const RunningServer&) = delete;
    RunningServer& operator=(const RunningServer&) = delete;

    [[nodiscard]] std::string exchange(std::string_view text) const {
        const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        require(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address_), bytes_) == 0);
        require(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
                static_cast<ssize_t>(text.size()));
        ::shutdown(socket.get(), SHUT_WR);
        std::string replies;
        std::array<char, 65536> chunk;
        for (;;) {
            const ssize_t count = ::recv(socket.get(), chunk.data(), chunk.size(), 0);
            require(count >= 0);
            if (count == 0) return replies;
            replies.append(chunk.data(), static_cast<size_t>(count));
        }
    }

  private:
    // With an address of no more than its family, Linux chooses a free name.
    Descriptor listen() {
        Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        address_.sun_family = AF_UNIX;
        require(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address_),
                       sizeof(sa_family_t)) == 0);
        require(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address_), &bytes_) == 0);
        require(::listen(socket.get(), 64) == 0);
        return socket;
    }

    sockaddr_un address_{};
    socklen_t bytes_ = sizeof address_;
    Echo echo_;
    Server server_;
    std::thread thread_;
};

std::string foretold(std::string_view text) {
    std::string replies;
    for (bool closes = false; !closes;) {
        const ParsedRequest parsed = parse_request(text);
        if (parsed.status == 0) return replies;
        const Response response =
            parsed.status == 200
                ? response_to(parsed.request)
                : text_response(parsed.status, std::string(reason_of(parsed.status)) + "\n");
        closes = parsed.status != 200 || !parsed.request.keep_alive;
        replies += head_of(response, !closes);
        if (!parsed.request.is_head) replies += *response.body;
        text.remove_prefix(parsed.bytes);
    }
    return replies;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const RunningServer server;
    if (size == 0 || size > bytes_max) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    require(server.exchange(text) == foretold(text));
    return 0;
}
