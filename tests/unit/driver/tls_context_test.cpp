// The error line for each wrong file of a server.
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "../temporary_folder.hpp"
#include "credentials.hpp"
#include "driver/nbd/tls/tls.hpp"

namespace blkscope::nbd {
namespace {

namespace fs = std::filesystem;

class TlsContextTest : public ::testing::Test {
  protected:
    TlsContextTest() {
        test::make_certificates(folder_);
        test::make_key(folder_, "alice");
    }

    [[nodiscard]] std::string path(const char* file) const { return folder_ / file; }

    void write(const char* file, const std::string& text) const {
        std::ofstream(path(file), std::ios::trunc) << text;
    }

    [[nodiscard]] TlsOptions x509() const {
        return {.mode = TlsMode::require, .certificates = folder_, .verify_peer = true};
    }
    [[nodiscard]] TlsOptions psk() const {
        return {.mode = TlsMode::require, .psk_file = path("keys.psk")};
    }

    /// The error of opening, without the folder; "opened" on success.
    [[nodiscard]] std::string failure(const TlsOptions& options) const {
        try {
            TlsContext::open(options);
        } catch (const std::invalid_argument& error) {
            std::string text = error.what();
            const std::string prefix = folder_.string() + "/";
            for (size_t at = 0; (at = text.find(prefix)) != std::string::npos;) {
                text.erase(at, prefix.size());
            }
            return text;
        }
        return "opened";
    }

    /// The warning that opening writes to standard error.
    [[nodiscard]] std::string warning(const TlsOptions& options) const {
        ::testing::internal::CaptureStderr();
        EXPECT_EQ(failure(options), "opened");
        return ::testing::internal::GetCapturedStderr();
    }

    const test::TemporaryFolder folder_;
};

TEST_F(TlsContextTest, OpensWhatIsWholeAndSaysNothing) {
    EXPECT_EQ(warning(x509()), "");
    EXPECT_EQ(warning(psk()), "");
    EXPECT_EQ(TlsContext::open(psk())->mode(), TlsMode::require);
}

TEST_F(TlsContextTest, WarnsOfACertificateThatHasExpired) {
    test::make_certificates(folder_, {.from_seconds = -7200, .to_seconds = -3600});
    const std::string said = warning(x509());
    EXPECT_EQ(
        said.rfind("blkscope: " + path("server-cert.pem") + ": the certificate expired on 20", 0),
        0u)
        << said;
    EXPECT_NE(said.find(" UTC, and clients refuse it; make a new one\n"), std::string::npos)
        << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST_F(TlsContextTest, WarnsOfACertificateThatIsNotValidYet) {
    test::make_certificates(folder_, {.from_seconds = 3600, .to_seconds = 7200});
    const std::string said = warning(x509());
    EXPECT_NE(said.find(": the certificate is not valid before 20"), std::string::npos) << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

// A client gets the whole chain, and refuses all of it for one certificate.
TEST_F(TlsContextTest, WarnsOfAnyCertificateOfTheChain) {
    const fs::path old = folder_ / "old";
    test::make_certificates(old, {.from_seconds = -7200, .to_seconds = -3600});
    std::ifstream link(old / "server-cert.pem");
    std::ofstream(path("server-cert.pem"), std::ios::app) << link.rdbuf();
    const std::string said = warning(x509());
    EXPECT_NE(said.find(": certificate 2 of the chain expired on 20"), std::string::npos) << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST_F(TlsContextTest, OffIsNoneAndTakesNoCredentials) {
    EXPECT_EQ(TlsContext::open({}), nullptr);
    EXPECT_EQ(failure({.certificates = folder_}),
              "--tls-certs: without effect, because TLS is off; add --tls require, or --tls on");
    EXPECT_EQ(failure({.psk_file = path("keys.psk")}),
              "--tls-psk: without effect, because TLS is off; add --tls require, or --tls on");
    EXPECT_EQ(
        failure({.verify_peer = true}),
        "--tls-verify-peer: without effect, because TLS is off; add --tls require, or --tls on");
}

TEST_F(TlsContextTest, OnWantsCredentials) {
    EXPECT_EQ(failure({.mode = TlsMode::on}),
              "--tls: neither certificates nor keys; give --tls-certs DIR or --tls-psk FILE");
    TlsOptions unverifiable = psk();
    unverifiable.verify_peer = true;
    EXPECT_EQ(failure(unverifiable),
              "--tls-verify-peer: no certificates to verify with; give --tls-certs DIR");
}

TEST_F(TlsContextTest, AMissingFileIsNamed) {
    for (const char* file : {"ca-cert.pem", "server-cert.pem", "server-key.pem"}) {
        const fs::path hidden = path("hidden");
        fs::rename(path(file), hidden);
        EXPECT_EQ(failure(x509()), std::string(file) +
                                       ": No such file or directory; "
                                       "make it with certtool or openssl");
        fs::rename(hidden, path(file));
    }
    fs::remove(path("keys.psk"));
    EXPECT_EQ(failure(psk()),
              "keys.psk: No such file or directory; "
              "make one with psktool -u NAME -p FILE");
}

TEST_F(TlsContextTest, TheAuthorityIsNeededToVerifyOnly) {
    fs::remove(path("ca-cert.pem"));
    EXPECT_EQ(failure({.mode = TlsMode::on, .certificates = folder_}), "opened");
}

TEST_F(TlsContextTest, AFileThatMayNotBeReadIsNamed) {
    ::chmod(folder_.c_str(), 0755);
    for (const char* file : {"ca-cert.pem", "server-cert.pem"}) ::chmod(path(file).c_str(), 0644);
    ::chmod(path("server-key.pem").c_str(), 0);
    const uid_t user = geteuid();
    ASSERT_EQ(seteuid(user == 0 ? 65534 : user), 0);  // root may read every file
    const std::string said = failure(x509());
    ASSERT_EQ(seteuid(user), 0);
    EXPECT_EQ(said, "server-key.pem: Permission denied; see who may read it");
}

TEST_F(TlsContextTest, AFileThatIsNotPemIsNamed) {
    for (const char* file : {"ca-cert.pem", "server-cert.pem", "server-key.pem"}) {
        const fs::path kept = path("kept");
        fs::rename(path(file), kept);
        write(file, "not what it should be");
        const std::string said = failure(x509());
        EXPECT_TRUE(said.starts_with(std::string(file) + ": no ")) << said;
        EXPECT_EQ(said.find('\n'), std::string::npos);
        fs::rename(kept, path(file));
    }
}

TEST_F(TlsContextTest, AKeyOfAnotherCertificateIsNamed) {
    fs::copy_file(path("client-key.pem"), path("server-key.pem"),
                  fs::copy_options::overwrite_existing);
    EXPECT_EQ(failure(x509()),
              "server-key.pem: not the key of server-cert.pem: key values mismatch; "
              "give the two that were made together");
}

// OpenSSL would ask for the passphrase on the terminal.
TEST_F(TlsContextTest, AKeyWithAPassphraseIsRefused) {
    std::FILE* file = std::fopen(path("server-key.pem").c_str(), "r");
    EVP_PKEY* key = PEM_read_PrivateKey(file, nullptr, nullptr, nullptr);
    std::fclose(file);
    file = std::fopen(path("server-key.pem").c_str(), "w");
    const unsigned char secret[] = "secret";
    EXPECT_EQ(PEM_write_PrivateKey(file, key, EVP_aes_128_cbc(), secret, 6, nullptr, nullptr), 1);
    std::fclose(file);
    EVP_PKEY_free(key);
    const std::string said = failure(x509());
    EXPECT_TRUE(said.starts_with("server-key.pem: no private key that can be used: ")) << said;
    EXPECT_TRUE(said.ends_with("; it must not have a passphrase")) << said;
}

// A reload opens these files. The server's clients wait neither for a writer nor for the end of a long file.
TEST_F(TlsContextTest, ANamedPipeAndALongFileAreNoCertificate) {
    for (const char* file : {"ca-cert.pem", "server-cert.pem", "server-key.pem"}) {
        const fs::path kept = path("kept");
        fs::copy_file(path(file), kept, fs::copy_options::overwrite_existing);
        fs::remove(path(file));
        ASSERT_EQ(::mkfifo(path(file).c_str(), 0600), 0);
        EXPECT_EQ(failure(x509()),
                  std::string(file) + ": not a regular file; make it with certtool or openssl");
        fs::remove(path(file));
        fs::copy_file(kept, path(file));
        fs::resize_file(path(file), (1 << 20) + 1);
        EXPECT_EQ(failure(x509()),
                  std::string(file) + ": more than 1 MiB; make it with certtool or openssl");
        fs::copy_file(kept, path(file), fs::copy_options::overwrite_existing);
    }
}

// A list that revokes nothing because of a damaged file would let everybody in.
TEST_F(TlsContextTest, ADamagedListOfRevocationsIsNamed) {
    const std::string list = test::make_crl(folder_, {path("client-cert.pem")});
    std::string forged = list;
    const size_t end = forged.find("-----END");
    forged.replace(end - 9, 1, forged[end - 9] == 'A' ? "B" : "A");
    const std::string todo = "; make it with certtool --generate-crl or openssl ca -gencrl";
    const auto failure_of = [&](const std::string& text) {
        write("ca-crl.pem", text);
        return failure(x509());
    };
    EXPECT_EQ(failure_of(list), "opened");
    const std::string none = "ca-crl.pem: no list of revoked certificates" + todo;
    EXPECT_EQ(failure_of(""), none);
    EXPECT_EQ(failure_of("not what it should be"), none);
    EXPECT_EQ(failure_of("\x30\x82\x01\x0a\x30\x81"),
              "ca-crl.pem: in DER, not in PEM; openssl crl -inform DER converts it" + todo);
    EXPECT_TRUE(failure_of(list.substr(0, list.size() / 2)).starts_with("ca-crl.pem: list 1: "));
    EXPECT_TRUE(failure_of(list + list.substr(0, 100)).starts_with("ca-crl.pem: list 2: "));
    EXPECT_EQ(
        failure_of(list + forged),
        "ca-crl.pem: list 2, of CN = authority of a test, is not signed by its authority" + todo);
}

TEST_F(TlsContextTest, AListOfRevocationsIsARegularFileThatCanBeRead) {
    const std::string todo = "; make it with certtool --generate-crl or openssl ca -gencrl";
    ASSERT_EQ(::mkfifo(path("ca-crl.pem").c_str(), 0600), 0);
    EXPECT_EQ(failure(x509()), "ca-crl.pem: not a regular file" + todo);
    fs::remove(path("ca-crl.pem"));
    fs::create_symlink("nowhere", path("ca-crl.pem"));
    EXPECT_EQ(failure(x509()), "ca-crl.pem: No such file or directory" + todo);
    fs::remove(path("ca-crl.pem"));
    write("ca-crl.pem", "");
    fs::resize_file(path("ca-crl.pem"), (16 << 20) + 1);
    EXPECT_EQ(failure(x509()), "ca-crl.pem: more than 16 MiB" + todo);
}

TEST_F(TlsContextTest, WarnsOfAListOfRevocationsThatMayNotDoWhatItShould) {
    const auto warning_of = [&](const std::string& text) {
        write("ca-crl.pem", text);
        return warning(x509());
    };
    EXPECT_EQ(warning_of(test::make_crl(folder_, {})), "");
    const std::string list = "blkscope: " + path("ca-crl.pem") + ": list 1, of CN = ";
    const std::string expired =
        warning_of(test::make_crl(folder_, {}, {.from_seconds = -7200, .to_seconds = -3600}));
    EXPECT_TRUE(expired.starts_with(list + "authority of a test, expired on 20")) << expired;
    EXPECT_TRUE(
        expired.ends_with(" UTC; what it names stays revoked, but a later list may name more\n"))
        << expired;
    test::make_certificates_below(folder_ / "below", folder_);
    EXPECT_EQ(warning_of(test::make_crl(folder_ / "below", {})),
              list +
                  "authority below that of a test, is not of an authority of ca-cert.pem, and "
                  "counts only for those below one\n");
}

TEST_F(TlsContextTest, WarnsOfRevocationsThatNobodyAsksFor) {
    write("ca-crl.pem", test::make_crl(folder_, {}));
    EXPECT_EQ(warning({.mode = TlsMode::on, .certificates = folder_}),
              "blkscope: " + path("ca-crl.pem") +
                  ": not used, because clients are not verified; add --tls-verify-peer\n");
}

TEST_F(TlsContextTest, KeysBeyondAMebibyteAreNotCutSilently) {
    write("keys.psk", std::string((1 << 20) + 1, '\n'));
    EXPECT_EQ(failure(psk()), "keys.psk: more than 1 MiB; remove what is no longer needed");
}

// As the shell's <(...) gives them, so that no file has the keys.
TEST_F(TlsContextTest, KeysMayComeThroughAPipe) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    constexpr std::string_view keys = "alice:00112233445566778899aabbccddeeff\n";
    ASSERT_EQ(::write(ends[1], keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
    ::close(ends[1]);
    const std::string name = "/dev/fd/" + std::to_string(ends[0]);
    EXPECT_EQ(failure({.mode = TlsMode::require, .psk_file = name}), "opened");
    ::close(ends[0]);
}

TEST_F(TlsContextTest, AnEmptyOrMalformedFileOfKeysIsNamed) {
    write("keys.psk", "");
    EXPECT_EQ(failure(psk()), "keys.psk: no keys; make one with psktool -u NAME -p FILE");
    write("keys.psk", "alice:nothex");
    EXPECT_EQ(failure(psk()),
              "keys.psk: line 1: no hexadecimal key after the ':'; "
              "make one with psktool -u NAME -p FILE");
}

TEST_F(TlsContextTest, WarnsOfAKeyThatEveryUserMayRead) {
    ::chmod(path("server-key.pem").c_str(), 0644);
    ::chmod(path("keys.psk").c_str(), 0644);
    EXPECT_EQ(warning(x509()), "blkscope: " + path("server-key.pem") +
                                   ": every user may read this key; chmod 600 it\n");
    EXPECT_EQ(warning(psk()),
              "blkscope: " + path("keys.psk") + ": every user may read this key; chmod 600 it\n");
    ::chmod(path("keys.psk").c_str(), 0640);
    EXPECT_EQ(warning(psk()), "");
}

}  // namespace
}  // namespace blkscope::nbd
