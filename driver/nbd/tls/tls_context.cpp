#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/log_line.hpp"
#include "driver/nbd/tls/certificate_dates.hpp"
#include "driver/nbd/tls/revocations.hpp"
#include "driver/nbd/tls/tls.hpp"
#include "driver/nbd/tls/tls_error.hpp"
#include "driver/nbd/tls/tls_keys.hpp"
#include "driver/nbd/tls/tls_session.hpp"

namespace blkscope::nbd {
namespace {

namespace fs = std::filesystem;

constexpr size_t file_bytes_max = size_t{1} << 20;
constexpr size_t crl_bytes_max = size_t{16} << 20;  // 400,000 revoked certificates

// Only authenticated ciphers with a fresh key. Shared-key ciphers come first, because a client that
// offers one has a key and perhaps no certificate.
constexpr const char* ciphers =
    "ECDHE-PSK-CHACHA20-POLY1305:DHE-PSK-AES128-GCM-SHA256:DHE-PSK-AES256-GCM-SHA384:"
    "DHE-PSK-CHACHA20-POLY1305:"
    "ECDHE+AESGCM:ECDHE+CHACHA20:DHE+AESGCM:DHE+CHACHA20:!aNULL:!eNULL";

// The first is the fastest where the processor has AES instructions. Every shared key can be used
// with it, because shared keys are bound to SHA-256.
constexpr const char* ciphers_1_3 =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

// Of a client that shows a key. Without a cipher of certificates, the server must have the key.
constexpr const char* key_ciphers =
    "ECDHE-PSK-CHACHA20-POLY1305:DHE-PSK-AES128-GCM-SHA256:DHE-PSK-AES256-GCM-SHA384:"
    "DHE-PSK-CHACHA20-POLY1305";

// The ciphers of TLS 1.3 have no kind. A key can be used with those of SHA-256 only.
constexpr const char* key_ciphers_1_3 = "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256";

constexpr unsigned char session_context[] = "blkscope";

// OpenSSL's slot for a program's own pointer.
constexpr int keys_index = 0;

constexpr const char* make_certificate = "make it with certtool or openssl";
constexpr const char* make_crl = "make it with certtool --generate-crl or openssl ca -gencrl";
constexpr const char* make_key = "make one with psktool -u NAME -p FILE";

[[noreturn]] void fail(const std::string& what, std::string_view why, std::string_view todo) {
    throw std::invalid_argument(fmt::format("{}: {}; {}", what, why, todo));
}

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File open_file(const std::string& path, std::string_view todo) {
    File file(std::fopen(path.c_str(), "re"), std::fclose);
    if (!file) {
        const int error = errno;
        fail(path, std::generic_category().message(error),
             error == ENOENT ? todo : "see who may read it");
    }
    return file;
}

// A reload opens these files while clients wait. So it must not wait for the writer of a named pipe, nor read for long.
// OpenSSL opens the path again.
File open_certificate(const std::string& path, std::string_view todo,
                      size_t bytes_max = file_bytes_max) {
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0) {
        if (!S_ISREG(info.st_mode)) fail(path, "not a regular file", todo);
        if (std::cmp_greater(info.st_size, bytes_max)) {
            fail(path, fmt::format("more than {} MiB", bytes_max >> 20), todo);
        }
    }
    return open_file(path, todo);
}

// Warns of a key that every user can read.
void warn_if_exposed(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0 || (info.st_mode & S_IROTH) == 0) return;
    log_line(path, ": every user may read this key; chmod 600 it");
}

// Without this OpenSSL would ask on the terminal.
int no_passphrase(char*, int, int, void*) {
    return -1;
}

// Longer texts are refused: the end of a list of keys or revocations is as good as its beginning.
std::string read_text(const std::string& path, std::FILE* file, size_t bytes_max) {
    std::string text(bytes_max + 1, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file));
    if (std::ferror(file) != 0)
        fail(path, std::generic_category().message(EIO), "see that it is a file");
    if (text.size() > bytes_max) {
        OPENSSL_cleanse(text.data(), text.size());
        fail(path, fmt::format("more than {} MiB", bytes_max >> 20), "remove what is no longer needed");
    }
    return text;
}

// The callback of TLS 1.2. OpenSSL also calls it for the external keys of TLS 1.3.
unsigned find_key(SSL* session, const char* name, unsigned char* to, unsigned bytes_max) {
    const auto* keys =
        static_cast<const TlsKeys*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(session), keys_index));
    const TlsKeys::Key* key = keys->find(name);
    auto* const asking = static_cast<TlsSession*>(SSL_get_app_data(session));
    assert(asking != nullptr);
    if (key == nullptr) {
        asking->offered_unknown_key(name);
        return 0;
    }
    if (key->size() > bytes_max) return 0;
    std::copy(key->begin(), key->end(), to);
    asking->offered_key(name);
    return static_cast<unsigned>(key->size());
}

// The callback of a client, for both versions.
// NOLINTNEXTLINE(readability-function-size): OpenSSL's parameters
unsigned show_key(SSL* session, const char*, char* name, unsigned name_bytes, unsigned char* to,
                  unsigned bytes_max) {
    const auto* keys =
        static_cast<const TlsKeys*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(session), keys_index));
    const auto* const showing = static_cast<const TlsSession*>(SSL_get_app_data(session));
    assert(showing != nullptr);
    const std::string& user = showing->context().user();
    const TlsKeys::Key* key = keys->find(user);
    assert(key != nullptr);
    if (key->size() > bytes_max || user.size() >= name_bytes) return 0;
    std::copy_n(user.c_str(), user.size() + 1, name);
    std::copy(key->begin(), key->end(), to);
    return static_cast<unsigned>(key->size());
}

// The certificate of a server that must have a key.
int refuse_certificate(X509_STORE_CTX* asked, void*) {
    X509_STORE_CTX_set_error(asked, X509_V_ERR_APPLICATION_VERIFICATION);
    return 0;
}

std::string name_of_process_user() {
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 4096> texts{};
    ::getpwuid_r(::geteuid(), &entry, texts.data(), texts.size(), &found);
    return found == nullptr ? "" : entry.pw_name;
}

// A user who gives TLS options expects that the server uses TLS.
void require_none(const TlsOptions& options) {
    constexpr std::string_view why = "without effect, because TLS is off";
    constexpr std::string_view todo = "add --tls require, or --tls on";
    if (!options.certificates.empty()) fail("--tls-certs", why, todo);
    if (!options.psk_file.empty()) fail("--tls-psk", why, todo);
    if (options.verify_peer) fail("--tls-verify-peer", why, todo);
}

void set_rules(SSL_CTX* context) {
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
                                     SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_dh_auto(context, 1);
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);
    if (SSL_CTX_set_cipher_list(context, ciphers) != 1 ||
        SSL_CTX_set_ciphersuites(context, ciphers_1_3) != 1) {
        throw std::runtime_error("TLS: OpenSSL's configuration leaves none of our ciphers");
    }
}

void load_chain(SSL_CTX* context, const std::string& path) {
    open_certificate(path, make_certificate);
    if (SSL_CTX_use_certificate_chain_file(context, path.c_str()) == 1) return;
    fail(path, "no certificate that can be used: " + tls_error_text(), make_certificate);
}

// Clients that verify refuse such a server, often without a reason.
void warn_if_untimely(SSL_CTX* context, const std::string& path) {
    const auto warn = [&](const X509* certificate, std::string_view which) {
        const std::string why =
            untimely(X509_get0_notBefore(certificate), X509_get0_notAfter(certificate));
        if (why.empty()) return;
        log_line(path, ": ", which, " ", why, ", and clients refuse it; make a new one");
    };
    const X509* const own = SSL_CTX_get0_certificate(context);
    assert(own != nullptr);
    warn(own, "the certificate");
    STACK_OF(X509)* issuers = nullptr;
    SSL_CTX_get0_chain_certs(context, &issuers);
    for (int i = 0; i < sk_X509_num(issuers); ++i) {
        warn(sk_X509_value(issuers, i), fmt::format("certificate {} of the chain", i + 2));
    }
}

void load_private_key(SSL_CTX* context, const std::string& path, const std::string& chain) {
    using Key = std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)>;
    const File file = open_certificate(path, make_certificate);
    const Key key(PEM_read_PrivateKey(file.get(), nullptr, no_passphrase, nullptr), EVP_PKEY_free);
    if (!key) {
        fail(path, "no private key that can be used: " + tls_error_text(),
             "it must not have a passphrase");
    }
    if (SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
        fail(path, "not the key of " + chain + ": " + tls_error_text(),
             "give the two that were made together");
    }
    warn_if_exposed(path);
}

// The trusted certificates of a context.
using Certificates = std::unique_ptr<STACK_OF(X509), void (*)(STACK_OF(X509)*)>;

Certificates trusted_by(SSL_CTX* context) {
    return {X509_STORE_get1_all_certs(SSL_CTX_get_cert_store(context)),
            [](STACK_OF(X509) * all) { sk_X509_pop_free(all, X509_free); }};
}

std::string crl_of(const fs::path& folder) {
    const fs::path path = folder / "ca-crl.pem";
    std::error_code ignored;  // a link to nothing is an error of opening
    return fs::symlink_status(path, ignored).type() == fs::file_type::not_found ? "" : path;
}

// OpenSSL's own verification, then the lists of revocations.
int verify_and_look_up(X509_STORE_CTX* asked, void* revocations) {
    if (X509_verify_cert(asked) != 1) return 0;
    X509* const revoked = static_cast<const Revocations*>(revocations)
                              ->first_revoked(X509_STORE_CTX_get0_chain(asked));
    if (revoked == nullptr) return 1;
    X509_STORE_CTX_set_current_cert(asked, revoked);
    X509_STORE_CTX_set_error(asked, X509_V_ERR_CERT_REVOKED);
    return 0;
}

}  // namespace

std::string tls_error_text() {
    const unsigned long error = ERR_peek_last_error();
    const char* reason = ERR_reason_error_string(error);
    std::string text = reason != nullptr ? reason : "no reason given";
    if (reason == nullptr && ERR_SYSTEM_ERROR(error)) {
        text = std::generic_category().message(ERR_GET_REASON(error));
    }
    ERR_clear_error();
    return text;
}

std::optional<TlsMode> tls_mode(std::string_view word) {
    if (word == "off") return TlsMode::off;
    if (word == "on") return TlsMode::on;
    if (word == "require") return TlsMode::require;
    return std::nullopt;
}

std::shared_ptr<const TlsContext> TlsContext::open(const TlsOptions& options) {
    if (options.mode == TlsMode::off) {
        require_none(options);
        return nullptr;
    }
    if (options.certificates.empty() && options.psk_file.empty()) {
        fail("--tls", "neither certificates nor keys", "give --tls-certs DIR or --tls-psk FILE");
    }
    if (options.verify_peer && options.certificates.empty()) {
        fail("--tls-verify-peer", "no certificates to verify with", "give --tls-certs DIR");
    }
    return std::shared_ptr<const TlsContext>(new TlsContext(options));
}

std::shared_ptr<const TlsContext> TlsContext::open_client(const TlsClientRules& rules) {
    return std::shared_ptr<const TlsContext>(new TlsContext(rules));
}

TlsContext::TlsContext(const TlsOptions& options)
    : mode_(options.mode), context_(SSL_CTX_new(TLS_server_method())) {
    if (!context_) throw std::bad_alloc();
    set_rules(context_.get());
    // OpenSSL treats a shared key of TLS 1.3 as a session. Where clients are verified, a session
    // needs a context.
    SSL_CTX_set_session_id_context(context_.get(), session_context, sizeof session_context);
    if (!options.certificates.empty()) load_certificates(options);
    if (options.psk_file.empty()) return;
    load_keys(options.psk_file);
    SSL_CTX_set_psk_server_callback(context_.get(), find_key);
}

TlsContext::TlsContext(const TlsClientRules& rules)
    : is_client_(true), context_(SSL_CTX_new(TLS_client_method())) {
    if (!context_) throw std::bad_alloc();
    set_rules(context_.get());
    if (!rules.psk_file.empty()) {
        require_key(rules);
        return;
    }
    load_client_certificates(rules.certificates);
    if (!rules.hostname.empty()) require_name(rules.hostname);
    if (!rules.verify_peer) return;
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    if (!rules.certificates.empty()) load_revocations(rules.certificates);
}

TlsContext::~TlsContext() = default;

void TlsContext::Free::operator()(ssl_ctx_st* context) const {
    SSL_CTX_free(context);
}

void TlsContext::load_certificates(const TlsOptions& options) {
    const fs::path folder = options.certificates;
    const std::string chain = folder / "server-cert.pem";
    load_own(chain, folder / "server-key.pem");
    warn_if_untimely(context_.get(), chain);
    if (options.verify_peer) {
        require_signed_by(folder / "ca-cert.pem");
        load_revocations(folder);
    } else if (const std::string unused = crl_of(folder); !unused.empty()) {
        log_line(unused, ": not used, because clients are not verified; add --tls-verify-peer");
    }
}

void TlsContext::load_own(const std::string& chain, const std::string& key) {
    load_chain(context_.get(), chain);
    load_private_key(context_.get(), key, chain);
}

void TlsContext::require_signed_by(const std::string& authority) {
    open_certificate(authority, make_certificate);
    STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(authority.c_str());
    if (names == nullptr ||
        SSL_CTX_load_verify_locations(context_.get(), authority.c_str(), nullptr) != 1) {
        fail(authority, "no certificate that can be used: " + tls_error_text(), make_certificate);
    }
    SSL_CTX_set_client_CA_list(context_.get(), names);  // tells clients which certificate to send
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
}

// Behind the loading of the authorities.
void TlsContext::load_revocations(const fs::path& folder) {
    const std::string path = crl_of(folder);
    if (path.empty()) return;
    const File file = open_certificate(path, make_crl, crl_bytes_max);
    const std::string text = read_text(path, file.get(), crl_bytes_max);
    const Certificates authorities = trusted_by(context_.get());
    try {
        revocations_ =
            std::make_unique<const Revocations>(Revocations::parse(text, authorities.get()));
    } catch (const std::invalid_argument& error) {
        fail(path, error.what(), make_crl);
    }
    for (const std::string& warning : revocations_->warnings()) log_line(path, ": ", warning);
    SSL_CTX_set_cert_verify_callback(context_.get(), verify_and_look_up,
                                     const_cast<Revocations*>(revocations_.get()));
}

void TlsContext::load_keys(const std::string& path) {
    std::string text = read_text(path, open_file(path, make_key).get(), file_bytes_max);
    try {
        keys_ = std::make_unique<const TlsKeys>(TlsKeys::parse(text));
    } catch (const std::invalid_argument& error) {
        OPENSSL_cleanse(text.data(), text.size());
        fail(path, error.what(), make_key);
    }
    OPENSSL_cleanse(text.data(), text.size());
    warn_if_exposed(path);
    SSL_CTX_set_ex_data(context_.get(), keys_index, const_cast<TlsKeys*>(keys_.get()));
}

// ---- Of a client ----

// A certificate of its own is shown if the folder has one, as libnbd does.
void TlsContext::load_client_certificates(const std::string& folder) {
    if (folder.empty()) {
        SSL_CTX_set_default_verify_paths(context_.get());
        return;
    }
    const std::string authority = fs::path(folder) / "ca-cert.pem";
    open_certificate(authority, "give the directory that has the authority's certificate");
    if (SSL_CTX_load_verify_locations(context_.get(), authority.c_str(), nullptr) != 1) {
        fail(authority, "no certificate that can be used: " + tls_error_text(), make_certificate);
    }
    const std::string chain = fs::path(folder) / "client-cert.pem";
    if (fs::exists(chain)) load_own(chain, fs::path(folder) / "client-key.pem");
}

void TlsContext::require_name(const std::string& name) {
    X509_VERIFY_PARAM* const wanted = SSL_CTX_get0_param(context_.get());
    if (X509_VERIFY_PARAM_set1_ip_asc(wanted, name.c_str()) == 1) return;
    X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (X509_VERIFY_PARAM_set1_host(wanted, name.c_str(), name.size()) != 1) throw std::bad_alloc();
    server_name_ = name;
}

void TlsContext::require_key(const TlsClientRules& rules) {
    user_ = rules.user.empty() ? name_of_process_user() : rules.user;
    load_keys(rules.psk_file);
    if (keys_->find(user_) == nullptr) {
        fail(rules.psk_file, "no key of '" + user_ + "'",
             "give the name in the URI, as nbds://NAME@HOST");
    }
    SSL_CTX_set_psk_client_callback(context_.get(), show_key);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_cert_verify_callback(context_.get(), refuse_certificate, nullptr);
    if (SSL_CTX_set_cipher_list(context_.get(), key_ciphers) != 1 ||
        SSL_CTX_set_ciphersuites(context_.get(), key_ciphers_1_3) != 1) {
        throw std::runtime_error("TLS: OpenSSL's configuration leaves none of our ciphers");
    }
}

}  // namespace blkscope::nbd
