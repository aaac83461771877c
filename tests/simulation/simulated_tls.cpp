// RAND_METHOD is deprecated in OpenSSL 3, but OpenSSL still asks it before all providers.
#define OPENSSL_API_COMPAT 0x10101000L
#include "simulated_tls.hpp"

#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace blkscope::simulation {
namespace {

constexpr uint64_t tls_stream = 0x746c73;
constexpr size_t record_bytes_max = 16384;
constexpr std::string_view key_line = "client:000102030405060708090a0b0c0d0e0f\n";
constexpr const char* key_name = "client";
constexpr unsigned key_bytes = 16;

std::optional<Random> seeded;
const RAND_METHOD* usual = nullptr;

int draw(unsigned char* to, int count) {
    assert(seeded.has_value() && count >= 0);
    for (int i = 0; i < count; ++i) to[i] = static_cast<unsigned char>(seeded->next() & 0xff);
    return 1;
}

int is_ready() {
    return 1;
}

const RAND_METHOD from_seed = {nullptr, draw, nullptr, nullptr, draw, is_ready};

unsigned give_key(SSL*, const char*, char* name, unsigned name_max, unsigned char* key,
                  unsigned key_max) {
    if (std::strlen(key_name) >= name_max || key_bytes > key_max) return 0;
    std::strcpy(name, key_name);
    for (unsigned i = 0; i < key_bytes; ++i) key[i] = static_cast<unsigned char>(i);
    return key_bytes;
}

}  // namespace

}  // namespace blkscope::simulation

// The linker prefers this function to the C library's, for OpenSSL, too.
extern "C" std::time_t time(std::time_t* to) noexcept {
    std::time_t now = blkscope::simulation::tls_clock;
    if (!blkscope::simulation::seeded.has_value()) {
        timespec real{};
        clock_gettime(CLOCK_REALTIME, &real);
        now = real.tv_sec;
    }
    if (to != nullptr) *to = now;
    return now;
}

namespace blkscope::simulation {

SeededRandomness::SeededRandomness(uint64_t seed) {
    assert(!seeded.has_value());
    seeded.emplace(seed, tls_stream);
    usual = RAND_get_rand_method();
    RAND_set_rand_method(&from_seed);
}

SeededRandomness::~SeededRandomness() {
    RAND_set_rand_method(usual);
    seeded.reset();
}

std::shared_ptr<const nbd::TlsContext> make_tls_context(nbd::TlsMode mode) {
    const int file = memfd_create("keys", MFD_CLOEXEC);
    fchmod(file, S_IRUSR);
    const ssize_t written = pwrite(file, key_line.data(), key_line.size(), 0);
    assert(written == static_cast<ssize_t>(key_line.size()));
    static_cast<void>(written);
    nbd::TlsOptions options;
    options.mode = mode;
    options.psk_file = "/proc/self/fd/" + std::to_string(file);
    auto context = nbd::TlsContext::open(options);
    ::close(file);
    return context;
}

TlsStream::TlsStream(std::shared_ptr<SimulatedSocket> socket, bool old_version)
    : socket_(std::move(socket)), context_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_set_psk_client_callback(context_, give_key);
    if (old_version) SSL_CTX_set_max_proto_version(context_, TLS1_2_VERSION);
    ssl_ = SSL_new(context_);
    SSL_set_mode(ssl_, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(ssl_);
}

TlsStream::~TlsStream() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
}

void TlsStream::digest(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {
        digest_ = (digest_ ^ static_cast<uint64_t>(byte)) * 0x100000001b3;
    }
}

uint64_t TlsStream::digest() const {
    const SSL_SESSION* const session = SSL_get_session(ssl_);
    return session == nullptr ? digest_
                              : digest_ ^ static_cast<uint64_t>(SSL_SESSION_get_time(session));
}

bool TlsStream::was_ended() const {
    return (SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN) != 0;
}

bool TlsStream::was_negotiated_anew() const {
    return is_anew_ && SSL_is_init_finished(ssl_);
}

int64_t TlsStream::outcome(int result, int64_t if_more_is_wanted) {
    if (result > 0) return result;
    const int error = SSL_get_error(ssl_, result);
    if (error == SSL_ERROR_ZERO_RETURN) return 0;
    return error == SSL_ERROR_WANT_READ ? if_more_is_wanted : -EPROTO;
}

bool TlsStream::flush() {
    char* first = nullptr;
    std::array<std::byte, 4096> part;
    BIO* const out = SSL_get_wbio(ssl_);
    while (BIO_get_mem_data(out, &first) > 0) {
        const auto there = static_cast<size_t>(BIO_get_mem_data(out, &first));
        const auto bytes = std::as_bytes(std::span<char>(first, std::min(there, part.size())));
        const int64_t result = socket_->send(bytes);
        if (result < 0) return false;
        digest(bytes.first(static_cast<size_t>(result)));
        BIO_read(out, part.data(), static_cast<int>(result));
    }
    // Once: like Linux, a further shutdown(2) wakes this end, which would flush again without an end.
    if (!socket_->closed() && std::exchange(ends_, false)) socket_->shut_down(false, true);
    return true;
}

void TlsStream::update_keys() {
    if (!SSL_is_init_finished(ssl_) || SSL_version(ssl_) < TLS1_3_VERSION) return;
    ERR_clear_error();
    SSL_key_update(ssl_, SSL_KEY_UPDATE_REQUESTED);
    SSL_do_handshake(ssl_);
    flush();
}

// Behind all ciphertext that is to be sent.
void TlsStream::put_record(uint8_t type, size_t told_bytes, size_t bytes, Random& random) {
    std::vector<uint8_t> record{type, 3, 3, static_cast<uint8_t>(told_bytes >> 8),
                                static_cast<uint8_t>(told_bytes & 0xff)};
    for (; bytes > 0; --bytes) record.push_back(static_cast<uint8_t>(random.next() & 0xff));
    BIO_write(SSL_get_wbio(ssl_), record.data(), static_cast<int>(record.size()));
}

TlsMisuse TlsStream::misuse(TlsMisuse how, Random& random) {
    constexpr uint8_t alert = 21;
    constexpr uint8_t handshake = 22;
    constexpr uint8_t data = 23;
    const size_t bytes = random.between(40, 400);
    const bool can_renegotiate = SSL_is_init_finished(ssl_) && SSL_version(ssl_) < TLS1_3_VERSION;
    if (how == TlsMisuse::renegotiation && !can_renegotiate) how = TlsMisuse::garbage;
    ERR_clear_error();
    switch (how) {
        case TlsMisuse::garbage:
            put_record(data, bytes, bytes, random);
            break;
        case TlsMisuse::half_record:
            put_record(data, bytes, random.below(bytes), random);
            ends_ = true;
            break;
        case TlsMisuse::long_record:
            put_record(data, 0xffff, record_bytes_max, random);
            break;
        case TlsMisuse::plain_alert:
            put_record(alert, 2, 2, random);
            break;
        case TlsMisuse::plain_hello:
            put_record(handshake, bytes, bytes, random);
            break;
        case TlsMisuse::goodbye:
            SSL_shutdown(ssl_);
            break;
        case TlsMisuse::end:
            ends_ = true;
            break;
        case TlsMisuse::renegotiation:
            SSL_renegotiate(ssl_);
            SSL_do_handshake(ssl_);
            is_anew_ = !SSL_is_init_finished(ssl_);  // what it has not read yet may put it off
            break;
    }
    flush();
    return how;
}

int64_t TlsStream::send(std::span<const std::byte> from) {
    ERR_clear_error();
    if (!SSL_is_init_finished(ssl_)) {
        const int64_t result = outcome(SSL_do_handshake(ssl_), -EAGAIN);
        flush();
        if (result <= 0) return result;
    }
    if (!flush()) return -EAGAIN;
    const auto bytes = static_cast<int>(std::min(from.size(), record_bytes_max));
    const int64_t result = outcome(SSL_write(ssl_, from.data(), bytes), -EAGAIN);
    flush();
    return result;
}

int64_t TlsStream::receive(std::span<std::byte> to) {
    ERR_clear_error();
    std::array<std::byte, 4096> part;
    int64_t came = 0;
    while ((came = socket_->receive(part)) > 0) {
        digest(std::span(part).first(static_cast<size_t>(came)));
        BIO_write(SSL_get_rbio(ssl_), part.data(), static_cast<int>(came));
    }
    const auto room = static_cast<int>(std::min(to.size(), record_bytes_max));
    const int64_t result = outcome(SSL_read(ssl_, to.data(), room), came);
    flush();
    return result;
}

}  // namespace blkscope::simulation
