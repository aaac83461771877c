// Certificates and keys for tests of TLS, made when they are needed. So the source tree has none
// that could expire or be taken for a real one.
#pragma once

#include <filesystem>
#include <string>

namespace blkscope::test {

/// From when to when a certificate is valid, from now.
struct Validity {
    long from_seconds = -3600;
    long to_seconds = 24L * 3600;
};

/// Writes ca-cert.pem, server-cert.pem and server-key.pem (for localhost and 127.0.0.1),
/// client-cert.pem and client-key.pem to `folder`, which it makes. Two calls make two independent
/// authorities.
void make_certificates(const std::filesystem::path& folder, const Validity& of_server = {});

/// Writes keys.psk to `folder`, which it makes: one key of 32 bytes for `name`. The same name has
/// the same key.
void make_key(const std::filesystem::path& folder, const std::string& name);

}  // namespace blkscope::test
