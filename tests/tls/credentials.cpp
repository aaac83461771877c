#include "credentials.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <random>
#include <stdexcept>
#include <utility>

namespace blkscope::test {
namespace {

namespace fs = std::filesystem;

using Key = std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)>;
using Certificate = std::unique_ptr<X509, void (*)(X509*)>;

void require(bool done, const char* what) {
    if (!done) throw std::runtime_error(std::string("make credentials: ") + what);
}

Key make_private_key() {
    Key key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"), EVP_PKEY_free);
    require(key != nullptr, "key");
    return key;
}

void add_extension(X509* certificate, int what, const char* value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, what, value);
    require(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1, value);
    X509_EXTENSION_free(extension);
}

Certificate make_certificate(const std::string& name, EVP_PKEY* key, const Validity& valid = {}) {
    Certificate certificate(X509_new(), X509_free);
    require(certificate != nullptr, "certificate");
    X509* to = certificate.get();
    X509_set_version(to, X509_VERSION_3);
    ASN1_INTEGER_set_uint64(X509_get_serialNumber(to), std::random_device{}());
    X509_gmtime_adj(X509_getm_notBefore(to), valid.from_seconds);
    X509_gmtime_adj(X509_getm_notAfter(to), valid.to_seconds);
    X509_set_pubkey(to, key);
    const auto* text = reinterpret_cast<const unsigned char*>(name.c_str());
    X509_NAME_add_entry_by_txt(X509_get_subject_name(to), "CN", MBSTRING_UTF8, text, -1, -1, 0);
    return certificate;
}

void sign(X509* certificate, X509* authority, EVP_PKEY* key) {
    X509_set_issuer_name(certificate, X509_get_subject_name(authority));
    require(X509_sign(certificate, key, EVP_sha256()) > 0, "sign");
}

template <class Write>
void write_file(const fs::path& path, mode_t mode, Write write) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "w"),
                                                               std::fclose);
    require(file != nullptr && write(file.get()) == 1, path.c_str());
    require(::chmod(path.c_str(), mode) == 0, "chmod");
}

void write_certificate(const fs::path& path, X509* certificate) {
    write_file(path, 0644, [&](std::FILE* to) { return PEM_write_X509(to, certificate); });
}

void write_key(const fs::path& path, EVP_PKEY* key) {
    write_file(path, 0600, [&](std::FILE* to) {
        return PEM_write_PrivateKey(to, key, nullptr, nullptr, 0, nullptr, nullptr);
    });
}

// The one who signs the certificates of a folder.
struct Signer {
    Certificate certificate;
    Key key;
};

Signer make_signer(const std::string& name) {
    Key key = make_private_key();
    Certificate certificate = make_certificate(name, key.get());
    add_extension(certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
    return {std::move(certificate), std::move(key)};
}

void write_signer(const fs::path& folder, const Signer& signer) {
    write_certificate(folder / "signer-cert.pem", signer.certificate.get());
    write_key(folder / "signer-key.pem", signer.key.get());
}

Certificate read_certificate(const fs::path& path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "r"),
                                                               std::fclose);
    require(file != nullptr, path.c_str());
    return {PEM_read_X509(file.get(), nullptr, nullptr, nullptr), X509_free};
}

Signer read_signer(const fs::path& folder) {
    const fs::path path = folder / "signer-key.pem";
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "r"),
                                                               std::fclose);
    require(file != nullptr, path.c_str());
    return {read_certificate(folder / "signer-cert.pem"),
            Key(PEM_read_PrivateKey(file.get(), nullptr, nullptr, nullptr), EVP_PKEY_free)};
}

void make_both_sides(const fs::path& folder, const Signer& signer, const Validity& of_server) {
    const auto make_for = [&](const std::string& who, const char* usage, const char* names,
                              const Validity& valid) {
        const Key key = make_private_key();
        const Certificate certificate = make_certificate(who, key.get(), valid);
        add_extension(certificate.get(), NID_ext_key_usage, usage);
        if (names != nullptr) add_extension(certificate.get(), NID_subject_alt_name, names);
        sign(certificate.get(), signer.certificate.get(), signer.key.get());
        write_certificate(folder / (who + "-cert.pem"), certificate.get());
        write_key(folder / (who + "-key.pem"), key.get());
    };
    make_for("server", "serverAuth", "DNS:localhost,IP:127.0.0.1", of_server);
    make_for("client", "clientAuth", nullptr, {});
}

ASN1_TIME* seconds_from_now(long seconds) {
    return X509_gmtime_adj(nullptr, seconds);
}

void add_revoked(X509_CRL* list, const X509* certificate) {
    X509_REVOKED* const entry = X509_REVOKED_new();
    ASN1_TIME* const now = seconds_from_now(0);
    X509_REVOKED_set_serialNumber(entry,
                                  const_cast<ASN1_INTEGER*>(X509_get0_serialNumber(certificate)));
    X509_REVOKED_set_revocationDate(entry, now);
    ASN1_TIME_free(now);
    require(X509_CRL_add0_revoked(list, entry) == 1, "entry of a list");
}

}  // namespace

void make_certificates(const fs::path& folder, const Validity& of_server) {
    fs::create_directories(folder);
    const Signer authority = make_signer("authority of a test");
    sign(authority.certificate.get(), authority.certificate.get(), authority.key.get());
    write_certificate(folder / "ca-cert.pem", authority.certificate.get());
    write_signer(folder, authority);
    make_both_sides(folder, authority, of_server);
}

void make_certificates_below(const fs::path& folder, const fs::path& above) {
    fs::create_directories(folder);
    const Signer authority = read_signer(above);
    const Signer middle = make_signer("authority below that of a test");
    sign(middle.certificate.get(), authority.certificate.get(), authority.key.get());
    fs::copy_file(above / "ca-cert.pem", folder / "ca-cert.pem");
    write_signer(folder, middle);
    make_both_sides(folder, middle, {});
    for (const char* file : {"server-cert.pem", "client-cert.pem"}) {
        std::ofstream(folder / file, std::ios::app)
            << std::ifstream(folder / "signer-cert.pem").rdbuf();
    }
}

std::string make_crl(const fs::path& folder, const std::vector<fs::path>& revoked,
                     const Validity& valid) {
    const Signer signer = read_signer(folder);
    const std::unique_ptr<X509_CRL, void (*)(X509_CRL*)> list(X509_CRL_new(), X509_CRL_free);
    X509_CRL_set_version(list.get(), X509_CRL_VERSION_2);
    X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(signer.certificate.get()));
    ASN1_TIME* const from = seconds_from_now(valid.from_seconds);
    ASN1_TIME* const to = seconds_from_now(valid.to_seconds);
    X509_CRL_set1_lastUpdate(list.get(), from);
    X509_CRL_set1_nextUpdate(list.get(), to);
    ASN1_TIME_free(from);
    ASN1_TIME_free(to);
    for (const fs::path& file : revoked) add_revoked(list.get(), read_certificate(file).get());
    require(X509_CRL_sign(list.get(), signer.key.get(), EVP_sha256()) > 0, "sign a list");
    const std::unique_ptr<BIO, int (*)(BIO*)> text(BIO_new(BIO_s_mem()), BIO_free);
    require(PEM_write_bio_X509_CRL(text.get(), list.get()) == 1, "write a list");
    const char* bytes = nullptr;
    const long size = BIO_get_mem_data(text.get(), &bytes);
    return {bytes, static_cast<size_t>(size)};
}

void make_key(const fs::path& folder, const std::string& name) {
    fs::create_directories(folder);
    std::seed_seq seed(name.begin(), name.end());
    std::mt19937 random(seed);
    std::string hex;
    for (int i = 0; i < 64; ++i) hex += "0123456789abcdef"[random() % 16];
    const fs::path path = folder / "keys.psk";
    std::ofstream(path) << name << ':' << hex << '\n';
    require(::chmod(path.c_str(), 0600) == 0, "chmod");
}

}  // namespace blkscope::test
