// Wire: one NBD connection that sends reads early and takes replies late, with little work of its
// own.
//
//     push(cookie) ... flush() ─▶ server ─▶ take(): the cookies whose replies have come
//
// The server gets reads in the order of push(). Replies come in any order.
//
// Units:     bytes; nanoseconds of CLOCK_MONOTONIC.
// Ownership: owns its socket.
// Threads:   one.
// Errors:    std::runtime_error, also for a reply with an error and for a server that closes.
// Source:    the NBD protocol document: fixed newstyle negotiation, simple replies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace blkscope::modelled {

int64_t now_ns();

class Wire {
  public:
    static constexpr uint32_t read_bytes = 512;

    explicit Wire(const std::string& socket_path);
    ~Wire();
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;

    /// A read of the first bytes of the export.
    void push(uint64_t cookie);
    void flush();

    /// Waits for replies, for `wait_ns` at most, and calls `done(cookie)` for each.
    template <class Done>
    void take(int64_t wait_ns, Done done) {
        receive(wait_ns);
        size_t at = 0;
        for (; filled_ - at >= reply_bytes; at += reply_bytes) done(cookie_at(at));
        discard(at);
    }

  private:
    static constexpr size_t reply_bytes = 16 + read_bytes;

    void negotiate();
    void send_all(const void* data, size_t bytes);
    void receive_all(void* data, size_t bytes);
    void receive(int64_t wait_ns);
    [[nodiscard]] uint64_t cookie_at(size_t at) const;
    void discard(size_t bytes);

    int socket_;
    std::vector<std::byte> unsent_;
    std::vector<std::byte> received_;
    size_t filled_ = 0;
};

}  // namespace blkscope::modelled
