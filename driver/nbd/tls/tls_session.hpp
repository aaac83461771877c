// TlsSession: one client's TLS, as bytes in and bytes out. No socket and no clock in it, so it can
// be begun on the control thread and go on in a worker's ring.
//
//     socket ─▶ input() ─▶ [ ciphertext ] ─▶ read()  ─▶ requests and their data
//     socket ◀─ output() ◀─ [ ciphertext ] ◀─ write() ◀─ replies
//
// Both buffers have a fixed size: who wants to write more than fits writes again when some has been
// sent, so a client that does not read costs what they hold and no more. What is under way to the
// socket stays in its place while more is added behind it.
//
// A client that asks for new keys is answered, and one that does it without end or reading is
// failed when the answers no longer fit.
//
// Units:     bytes.
// Ownership: owns its buffers; borrows the context, which it keeps alive.
// Threads:   one at a time; it may be handed from one to another.
// Errors:    as each function says; once failed it stays failed, and failure() says why.
// Source:    SSL_read(3), SSL_write(3), SSL_get_error(3), SSL_shutdown(3); RFC 8446 section 6.1 for
//            the end of a stream and how a cut off one is told from it.
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
    TlsSession(const TlsSession&) = delete;
    TlsSession& operator=(const TlsSession&) = delete;

    // ---- To and from the socket ----

    /// Where the next ciphertext goes; never empty after a read() or handshake() that gave -EAGAIN.
    [[nodiscard]] std::span<std::byte> input();
    void received(size_t bytes);

    /// Ciphertext to be sent, whatever went before said; stays where it is until sent().
    [[nodiscard]] std::span<const std::byte> output() const;
    void sent(size_t bytes);

    // ---- To and from the client ----
    // Results are as a system call's: bytes, or -errno. -EAGAIN: more ciphertext has to come first.
    // -EPROTO: failed. Output may have come with any of them.

    /// Goes on with the handshake; 0 when it is done.
    int handshake();

    /// Decrypts as much as there is and `to` has room for. 0: the client has said that it is done.
    int32_t read(std::span<std::byte> to);

    /// There is ciphertext that could not be decrypted yet: the stream must not end here.
    [[nodiscard]] bool in_record() const;

    /// Encrypts as much of the pieces, in their order, as the output has room for. Records are
    /// filled across pieces, so that many small replies cost as few as their bytes need.
    int32_t write(std::span<const iovec> pieces);

    /// Says that nothing more will be written, once. After a failure it has nothing to say.
    void close();
    [[nodiscard]] bool closed() const { return closed_; }

    /// One line of ASCII; empty unless failed. Once the client has a name, the line ends with that.
    [[nodiscard]] const std::string& failure() const { return failure_; }

    /// How the log calls the client, for those who know only the session.
    void name_client(std::string name) { client_ = std::move(name); }

    /// For the context: the client offers the use of a shared key of this name, and there is none.
    void offered_unknown_key(std::string_view name);
    /// The first such name, as it may stand in the log; nothing if there was none or it was taken
    /// before.
    [[nodiscard]] std::optional<std::string> take_unknown_key();

  private:
    static constexpr size_t record_bytes_max = size_t{16} << 10;  // of plaintext

    friend struct TlsSessionBio;

    int32_t outcome(int result);
    bool write_record(const void* data, size_t bytes);
    [[nodiscard]] size_t output_room() const;

    std::shared_ptr<const TlsContext> context_;
    ssl_st* ssl_ = nullptr;

    std::unique_ptr<std::byte[]> input_;
    size_t input_begin_ = 0;
    size_t input_end_ = 0;
    std::unique_ptr<std::byte[]> output_;
    size_t output_begin_ = 0;
    size_t output_end_ = 0;
    std::unique_ptr<std::byte[]> record_;  // of pieces that are smaller than one

    bool closed_ = false;
    std::string failure_;
    std::string client_;  // empty until it has a name
    std::optional<std::string> unknown_key_;
    bool unknown_key_taken_ = false;
};

}  // namespace blkscope::nbd
