// SimulatedTls: what a life needs of TLS: randomness from its seed, the server's key, a client's end.
//
// OpenSSL runs as it is. All that it draws comes from the seed while a SeededRandomness lives, and no
// clock is in what it writes, so a life with TLS repeats to the byte.
//
// Ownership: a TlsStream shares its socket.
// Threads:   one; one SeededRandomness at a time.
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

/// Puts numbers from a seed in place of OpenSSL's own, and takes them back at its end.
class SeededRandomness {
  public:
    explicit SeededRandomness(uint64_t seed);
    ~SeededRandomness();
    SeededRandomness(const SeededRandomness&) = delete;
    SeededRandomness& operator=(const SeededRandomness&) = delete;
};

/// A server's, with the one key that a TlsStream has; no file of it is left.
std::shared_ptr<const nbd::TlsContext> make_tls_context(nbd::TlsMode mode);

/// The client's end of a connection from STARTTLS on. Results are as a SimulatedSocket's, and
/// -EPROTO where TLS has failed.
class TlsStream {
  public:
    explicit TlsStream(std::shared_ptr<SimulatedSocket> socket);
    ~TlsStream();
    TlsStream(const TlsStream&) = delete;
    TlsStream& operator=(const TlsStream&) = delete;

    int64_t send(std::span<const std::byte> from);
    int64_t receive(std::span<std::byte> to);
    /// Sends ciphertext for which there was no room before; false while some is left.
    bool flush();

  private:
    int64_t outcome(int result, int64_t if_more_is_wanted);

    std::shared_ptr<SimulatedSocket> socket_;
    ssl_ctx_st* context_;
    ssl_st* ssl_;
};

}  // namespace blkscope::simulation
