// SimulatedTls: TLS for a life: randomness from its seed, a fixed clock, the server's key, a
// client's end.
//
// OpenSSL is the real one. During the lifetime of a SeededRandomness its random numbers come from
// the seed. Meanwhile time(2) always gives the same second to the whole process. So a life with TLS
// repeats byte for byte.
//
// Ownership: a TlsStream shares its socket.
// Threads:   a single one, with one SeededRandomness at a time.
// Source:    RAND_set_rand_method(3), SSL_CTX_set_psk_client_callback(3).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "driver/nbd/tls/tls.hpp"
#include "random.hpp"
#include "simulated_socket.hpp"

struct ssl_st;
struct ssl_ctx_st;

namespace blkscope::simulation {

/// The time(2) of all lives with TLS: in November 2023.
inline constexpr int64_t tls_clock = 1'700'000'000;

/// Replaces OpenSSL's random numbers by numbers from a seed, and its clock by `tls_clock`, until
/// destruction.
class SeededRandomness {
  public:
    explicit SeededRandomness(uint64_t seed);
    ~SeededRandomness();
    SeededRandomness(const SeededRandomness&) = delete;
    SeededRandomness& operator=(const SeededRandomness&) = delete;
};

/// Makes a server's context with the one key that a TlsStream has. Leaves no file.
std::shared_ptr<const nbd::TlsContext> make_tls_context(nbd::TlsMode mode);

/// What a client sends that is no right record, or the last one.
enum class TlsMisuse : uint8_t {
    garbage,        // a record of random bytes
    half_record,    // and then the end of the stream
    long_record,    // longer than allowed
    plain_alert,    // an alert without encryption
    plain_hello,    // a handshake without encryption
    goodbye,        // close_notify, while answers are to come
    end,            // of the stream, without close_notify
    renegotiation,  // only before TLS 1.3; then as garbage
};
inline constexpr unsigned tls_misuses = 8;

/// Whether it is a wrong record that the server reads to its end: it says why, and may be heard.
[[nodiscard]] inline bool deserves_alert(TlsMisuse how) {
    return how == TlsMisuse::garbage || how == TlsMisuse::plain_alert ||
           how == TlsMisuse::plain_hello;
}

/// The client's end of a connection after STARTTLS. Results are as a SimulatedSocket's, and -EPROTO
/// after a TLS failure.
class TlsStream {
  public:
    /// `old_version`: TLS 1.2.
    explicit TlsStream(std::shared_ptr<SimulatedSocket> socket, bool old_version = false);
    ~TlsStream();
    TlsStream(const TlsStream&) = delete;
    TlsStream& operator=(const TlsStream&) = delete;

    int64_t send(std::span<const std::byte> from);
    int64_t receive(std::span<std::byte> to);
    /// Sends ciphertext that had no room before. False: some is left.
    bool flush();
    /// Asks for new keys in both directions, if the version has it and the handshake is done.
    void update_keys();
    /// Returns what it did.
    TlsMisuse misuse(TlsMisuse how, Random& random);
    /// The other end has said that nothing more comes.
    [[nodiscard]] bool was_ended() const;
    /// The other end has let itself in for a renegotiation.
    [[nodiscard]] bool was_negotiated_anew() const;
    /// A number that depends on all bytes that were sent and received, and on the session's time.
    [[nodiscard]] uint64_t digest() const;

  private:
    void digest(std::span<const std::byte> bytes);
    void put_record(uint8_t type, size_t told_bytes, size_t bytes, Random& random);
    int64_t outcome(int result, int64_t if_more_is_wanted);

    std::shared_ptr<SimulatedSocket> socket_;
    ssl_ctx_st* context_;
    ssl_st* ssl_;
    uint64_t digest_ = 0;
    bool ends_ = false;     // the stream ends when all is sent
    bool is_anew_ = false;  // asks for a renegotiation
};

}  // namespace blkscope::simulation
