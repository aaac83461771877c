// SimulatedTls: TLS for a life: randomness from its seed, the server's key, a client's end.
//
// OpenSSL is the real one. During the lifetime of a SeededRandomness its random numbers come from
// the seed. OpenSSL's output has no clock in it, so a life with TLS repeats byte for byte.
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

/// Replaces OpenSSL's random numbers by numbers from a seed, until destruction.
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

  private:
    int64_t outcome(int result, int64_t if_more_is_wanted);

    std::shared_ptr<SimulatedSocket> socket_;
    ssl_ctx_st* context_;
    ssl_st* ssl_;
};

}  // namespace blkscope::simulation
