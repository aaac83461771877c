// TlsSession: one connection's TLS, as bytes in and bytes out. The session has no socket and no clock.
// So a session begins on the control thread and continues on a worker's ring. The context says which
// side it is, and the other side is the peer.
//
//     socket ─▶ input() ─▶ [ ciphertext ] ─▶ read()  ─▶ requests and their data
//     socket ◀─ output() ◀─ [ ciphertext ] ◀─ write() ◀─ replies
//
// The two buffers have a fixed size, so a peer that does not read costs no more than that. If a
// write does not fit, the caller writes the rest after a send. Bytes being sent stay in place while
// more are appended.
//
// A peer's key update is answered. A peer that sends key updates without reading fails when the
// answers no longer fit.
//
// Units:     bytes.
// Ownership: owns its buffers; shares the context.
// Threads:   a single one at a time; may move from one thread to another.
// Errors:    as each function says. After a failure every call fails, and failure() gives the
//            reason.
// Source:    SSL_read(3), SSL_write(3), SSL_get_error(3), SSL_shutdown(3); RFC 8446 section 6.1 for
//            the end of a stream.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

struct ssl_st;
struct bio_st;

namespace blkscope::nbd {

class TlsContext;

class TlsSession {
  public:
    static constexpr size_t input_bytes_max = size_t{64} << 10;
    static constexpr size_t output_bytes_max = size_t{128} << 10;

    explicit TlsSession(std::shared_ptr<const TlsContext> context);
    ~TlsSession();
    TlsSession& operator=(TlsSession&&) = delete;

    // ---- To and from the socket ----

    /// The place for the next ciphertext. Not empty after a read() or handshake() that returned
    /// -EAGAIN.
    [[nodiscard]] std::span<std::byte> input();
    void received(size_t bytes);

    /// Ciphertext to send, after any result. Stays in place until sent().
    [[nodiscard]] std::span<const std::byte> output() const;
    void sent(size_t bytes);

    // ---- To and from the peer ----
    // Results are bytes or -errno. -EAGAIN: more ciphertext is needed first. -EPROTO: failed.
    // Output may exist after any result.

    /// Continues the handshake; 0 when done.
    int handshake();

    /// Decrypts as much as is available and fits in `to`. 0: the peer has closed its direction.
    int32_t read(std::span<std::byte> to);

    /// True if received ciphertext is not decrypted yet. A stream that ends here was cut.
    [[nodiscard]] bool in_record() const;

    /// Encrypts as much of the pieces, in order, as the output has room for. Small pieces share a
    /// record.
    int32_t write(std::span<const iovec> pieces);

    /// Writes the closing message once. After a failure there is none.
    void close();
    [[nodiscard]] bool closed() const { return closed_; }

    /// A line of ASCII; empty unless failed. Ends with the client's name, if set.
    [[nodiscard]] const std::string& failure() const { return failure_; }

    [[nodiscard]] const TlsContext& context() const { return *context_; }

    /// Sets the client's name for the texts of failure().
    void name_client(std::string name) { client_ = std::move(name); }

    /// After the handshake: the common name of the client's certificate, or the name of its shared
    /// key. Empty for a client that proved no name.
    [[nodiscard]] std::string client_name() const;

    /// Called by the context: the client offers a shared key of the server, by this name.
    void offered_key(std::string_view name) { key_name_ = name; }
    /// Called by the context: the client offers a shared key of an unknown name.
    void offered_unknown_key(std::string_view name);
    /// The first unknown name, as text for the log. Empty if there was none, or if it was taken
    /// before.
    [[nodiscard]] std::optional<std::string> take_unknown_key();

  private:
    static constexpr size_t record_bytes_max = size_t{16} << 10;  // of plaintext

    friend struct TlsSessionBio;

    int32_t outcome(int result);
    [[nodiscard]] std::string reason_of_failure() const;
    [[nodiscard]] const char* peer_word() const;
    bool write_record(const void* data, size_t bytes);
    [[nodiscard]] bool has_used_key() const;
    [[nodiscard]] size_t output_room() const;

    std::shared_ptr<const TlsContext> context_;
    ssl_st* ssl_ = nullptr;

    std::unique_ptr<std::byte[]> input_;
    size_t input_begin_ = 0;
    size_t input_end_ = 0;
    std::unique_ptr<std::byte[]> output_;
    size_t output_begin_ = 0;
    size_t output_end_ = 0;
    std::unique_ptr<std::byte[]> record_;  // of pieces smaller than a record

    bool closed_ = false;
    std::string failure_;
    std::string client_;    // empty until name_client()
    std::string key_name_;  // the last key of the server that the client offered
    std::optional<std::string> unknown_key_;
    bool unknown_key_taken_ = false;
};

}  // namespace blkscope::nbd
