// Certificates and keys for tests of TLS, made when they are needed. So the source tree has none
// that could expire or be taken for a real one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace blkscope::test {

/// From when to when a certificate is valid, from now.
struct Validity {
    long from_seconds = -3600;
    long to_seconds = 24L * 3600;
};

/// Writes ca-cert.pem, server-cert.pem and server-key.pem (for localhost and 127.0.0.1),
/// client-cert.pem and client-key.pem to `folder`, which it makes. Two calls make two independent
/// authorities. The one that signs is in signer-cert.pem and signer-key.pem.
void make_certificates(const std::filesystem::path& folder, const Validity& of_server = {});

/// The same files, signed by a new authority below that of `above`, whose ca-cert.pem they have. The certificate of
/// the new authority is behind each of its own.
void make_certificates_below(const std::filesystem::path& folder,
                             const std::filesystem::path& above);

/// A list in PEM, by the signer of `folder`, of the first certificates in these files.
std::string make_crl(const std::filesystem::path& folder,
                     const std::vector<std::filesystem::path>& revoked, const Validity& valid = {});

/// Writes keys.psk to `folder`, which it makes: one key of 32 bytes for `name`. The same name has
/// the same key.
void make_key(const std::filesystem::path& folder, const std::string& name);

}  // namespace blkscope::test
