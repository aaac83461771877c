#include "tls_client.hpp"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace blkscope::test {
namespace {

constexpr int client_index = 0;

}  // namespace

TlsClient::TlsClient(const TlsClientOptions& options) : context_(SSL_CTX_new(TLS_client_method())) {
    // A test may ask for unsafe settings.
    SSL_CTX_set_security_level(context_, 0);
    SSL_CTX_set_min_proto_version(context_, options.version);
    SSL_CTX_set_max_proto_version(context_, options.version);
    if (!options.ciphers.empty()) {
        EXPECT_EQ(SSL_CTX_set_cipher_list(context_, options.ciphers.c_str()), 1);
    }
    if (!options.suites.empty()) {
        EXPECT_EQ(SSL_CTX_set_ciphersuites(context_, options.suites.c_str()), 1);
    }
    if (!options.certificates.empty()) {
        const auto file = [&](const char* name) { return options.certificates / name; };
        EXPECT_EQ(SSL_CTX_load_verify_locations(context_, file("ca-cert.pem").c_str(), nullptr), 1);
        SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
        if (std::filesystem::exists(file("client-cert.pem"))) {
            SSL_CTX_use_certificate_chain_file(context_, file("client-cert.pem").c_str());
            SSL_CTX_use_PrivateKey_file(context_, file("client-key.pem").c_str(), SSL_FILETYPE_PEM);
        }
    }
    if (!options.keys.empty()) {
        std::ifstream in(options.keys / "keys.psk");
        std::getline(in, name_, ':');
        std::string hex;
        std::getline(in, hex);
        for (size_t i = 0; i + 1 < hex.size(); i += 2) {
            key_ += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
        }
        SSL_CTX_set_ex_data(context_, client_index, this);
        SSL_CTX_set_psk_client_callback(
            context_,
            [](SSL* ssl, const char*, char* name, unsigned name_max, unsigned char* key,
               unsigned key_max) -> unsigned {
                const auto* self = static_cast<const TlsClient*>(
                    SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), client_index));
                if (self->name_.size() >= name_max || self->key_.size() > key_max) return 0;
                std::strcpy(name, self->name_.c_str());
                std::memcpy(key, self->key_.data(), self->key_.size());
                return static_cast<unsigned>(self->key_.size());
            });
    }
    ssl_ = SSL_new(context_);
    SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(ssl_);
}

TlsClient::~TlsClient() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
}

TlsClient::Status TlsClient::status(int result) {
    if (result > 0) return Status::done;
    const int error = SSL_get_error(ssl_, result);
    if (error == SSL_ERROR_WANT_READ) return Status::wants_more;
    return error == SSL_ERROR_ZERO_RETURN ? Status::closed : Status::failed;
}

TlsClient::Status TlsClient::handshake() {
    ERR_clear_error();
    return status(SSL_do_handshake(ssl_));
}

TlsClient::Status TlsClient::read(std::string& to, size_t bytes) {
    std::array<char, 16384> part{};
    while (bytes > 0) {
        ERR_clear_error();
        const int got = SSL_read(ssl_, part.data(), static_cast<int>(std::min(bytes, part.size())));
        if (got <= 0) return status(got);
        to.append(part.data(), static_cast<size_t>(got));
        bytes -= static_cast<size_t>(got);
    }
    return Status::done;
}

void TlsClient::write(std::string_view text) {
    ERR_clear_error();
    EXPECT_EQ(SSL_write(ssl_, text.data(), static_cast<int>(text.size())),
              static_cast<int>(text.size()));
}

void TlsClient::update_keys() {
    EXPECT_EQ(SSL_key_update(ssl_, SSL_KEY_UPDATE_REQUESTED), 1);
    SSL_do_handshake(ssl_);
}

void TlsClient::close() {
    SSL_shutdown(ssl_);
}

std::string TlsClient::take() {
    std::string bytes(static_cast<size_t>(BIO_pending(SSL_get_wbio(ssl_))), '\0');
    if (!bytes.empty()) {
        BIO_read(SSL_get_wbio(ssl_), bytes.data(), static_cast<int>(bytes.size()));
    }
    return bytes;
}

void TlsClient::give(std::string_view ciphertext) {
    if (ciphertext.empty()) return;
    BIO_write(SSL_get_rbio(ssl_), ciphertext.data(), static_cast<int>(ciphertext.size()));
}

const char* TlsClient::version() const {
    return SSL_get_version(ssl_);
}

const char* TlsClient::cipher() const {
    return SSL_get_cipher_name(ssl_);
}

}  // namespace blkscope::test
