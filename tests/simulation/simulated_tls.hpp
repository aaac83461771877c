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

/// The client's end of a connection after STARTTLS. Results are as a SimulatedSocket's, and -EPROTO
/// after a TLS failure.
class TlsStream {
  public:
    explicit TlsStream(std::shared_ptr<SimulatedSocket> socket);
    ~TlsStream();
    TlsStream(const TlsStream&) = delete;
    TlsStream& operator=(const TlsStream&) = delete;

    int64_t send(std::span<const std::byte> from);
    int64_t receive(std::span<std::byte> to);
    /// Sends ciphertext that had no room before. False: some is left.
    bool flush();
    /// A number that depends on all bytes that were sent and received, and on the session's time.
    [[nodiscard]] uint64_t digest() const;

  private:
    void digest(std::span<const std::byte> bytes);
    int64_t outcome(int result, int64_t if_more_is_wanted);

    std::shared_ptr<SimulatedSocket> socket_;
    ssl_ctx_st* context_;
    ssl_st* ssl_;
    uint64_t digest_ = 0;
};

}  // namespace blkscope::simulation
