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

}  // namespace

void make_certificates(const fs::path& folder, const Validity& of_server) {
    fs::create_directories(folder);
    const Key authority_key = make_private_key();
    const Certificate authority = make_certificate("authority of a test", authority_key.get());
    add_extension(authority.get(), NID_basic_constraints, "critical,CA:TRUE");
    sign(authority.get(), authority.get(), authority_key.get());
    write_certificate(folder / "ca-cert.pem", authority.get());

    const auto make_for = [&](const std::string& who, const char* usage, const char* names,
                              const Validity& valid) {
        const Key key = make_private_key();
        const Certificate certificate = make_certificate(who, key.get(), valid);
        add_extension(certificate.get(), NID_ext_key_usage, usage);
        if (names != nullptr) add_extension(certificate.get(), NID_subject_alt_name, names);
        sign(certificate.get(), authority.get(), authority_key.get());
        write_certificate(folder / (who + "-cert.pem"), certificate.get());
        write_key(folder / (who + "-key.pem"), key.get());
    };
    make_for("server", "serverAuth", "DNS:localhost,IP:127.0.0.1", of_server);
    make_for("client", "clientAuth", nullptr, {});
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
