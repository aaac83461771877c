// A session with OpenSSL's own client; the test carries their bytes.
#include "driver/nbd/tls/tls_session.hpp"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "../temporary_folder.hpp"
#include "credentials.hpp"
#include "driver/nbd/tls/tls.hpp"
#include "tls_client.hpp"

namespace blkscope::nbd {
namespace {

using test::TlsClient;
using test::TlsClientOptions;
using Status = TlsClient::Status;

std::string random_text(size_t bytes, uint_fast32_t seed) {
    std::mt19937 random(seed);
    std::string text(bytes, '\0');
    for (char& c : text) c = static_cast<char>(random());
    return text;
}

iovec piece(const std::string& text, size_t at = 0) {
    return {const_cast<char*>(text.data()) + at, text.size() - at};
}

class TlsTest : public ::testing::Test {
  protected:
    TlsTest() {
        test::make_certificates(folder_);
        test::make_key(folder_, "alice");
    }

    [[nodiscard]] TlsOptions both_kinds() const {
        return {
            .mode = TlsMode::require, .certificates = folder_, .psk_file = folder_ / "keys.psk"};
    }

    /// A handshake of these two; false if either side refuses.
    bool connect(const TlsOptions& server, const TlsClientOptions& client) {
        session_ = std::make_unique<TlsSession>(TlsContext::open(server));
        client_ = std::make_unique<TlsClient>(client);
        for (int rounds = 0; rounds < 10; ++rounds) {
            const Status theirs = client_->handshake();
            to_server(client_->take());
            const int ours = session_->handshake();
            to_client();
            if (theirs == Status::failed || ours == -EPROTO) return false;
            if (theirs == Status::done && ours == 0) return true;
        }
        return false;
    }

    bool connect() { return connect(both_kinds(), {.certificates = folder_}); }

    void to_server(const std::string& bytes) {
        const auto room = session_->input();
        ASSERT_LE(bytes.size(), room.size());
        std::memcpy(room.data(), bytes.data(), bytes.size());
        session_->received(bytes.size());
    }

    size_t to_client() {
        const auto bytes = session_->output();
        const size_t size = bytes.size();
        client_->give({reinterpret_cast<const char*>(bytes.data()), size});
        session_->sent(size);
        return size;
    }

    int32_t read(std::string& to, size_t bytes) {
        std::vector<std::byte> room(bytes);
        const int32_t result = session_->read(room);
        if (result > 0) {
            to.append(reinterpret_cast<const char*>(room.data()), static_cast<size_t>(result));
        }
        return result;
    }

    const test::TemporaryFolder folder_;
    std::unique_ptr<TlsSession> session_;
    std::unique_ptr<TlsClient> client_;
};

// ---- Agreement ----

// Clients of which some are revoked. `below` is of an authority below that of `folder_`.
class Revocation : public TlsTest {
  protected:
    Revocation() { test::make_certificates_below(below(), folder_); }

    [[nodiscard]] std::filesystem::path below() const { return folder_ / "below"; }
    [[nodiscard]] std::filesystem::path client() const { return folder_ / "client-cert.pem"; }

    void revoke(const std::string& lists) const { std::ofstream(folder_ / "ca-crl.pem") << lists; }

    /// Whether the server lets a client with these certificates in.
    bool lets_in(const std::filesystem::path& certificates) {
        ::testing::internal::CaptureStderr();
        const bool let_in =
            connect({.mode = TlsMode::require, .certificates = folder_, .verify_peer = true},
                    {.version = version_, .certificates = certificates});
        ::testing::internal::GetCapturedStderr();  // warnings about lists
        return let_in;
    }

    int version_ = TLS1_2_VERSION;  // the client waits for the server's last word
};

TEST_F(Revocation, ARevokedClientIsRefusedInEachVersion) {
    EXPECT_TRUE(lets_in(folder_));
    revoke(test::make_crl(folder_, {client()}));
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        version_ = version;
        EXPECT_FALSE(lets_in(folder_));
        EXPECT_EQ(session_->failure(), "certificate verify failed (certificate revoked)");
        EXPECT_TRUE(lets_in(below())) << "the list does not name it";
    }
}

// GnuTLS' rule: nobody is let in again, and nobody else is kept out.
TEST_F(Revocation, AListRevokesWheneverItIsFrom) {
    for (const test::Validity& valid : {test::Validity{-7200, -3600}, test::Validity{3600, 7200}}) {
        revoke(test::make_crl(folder_, {client()}, valid));
        EXPECT_FALSE(lets_in(folder_));
        EXPECT_TRUE(lets_in(below()));
    }
}

TEST_F(Revocation, AListOfAnotherAuthorityRevokesNothing) {
    revoke(test::make_crl(below(), {client()}));
    EXPECT_TRUE(lets_in(folder_)) << "a serial number is its authority's";
}

TEST_F(Revocation, AnyOfSeveralListsRevokes) {
    const std::string none = test::make_crl(folder_, {});
    const std::string one = test::make_crl(folder_, {client()});
    const std::string other = test::make_crl(below(), {below() / "client-cert.pem"});
    for (const std::string& lists : {none + one, one + none, other + one, one + other}) {
        revoke(lists);
        EXPECT_FALSE(lets_in(folder_));
        EXPECT_EQ(lets_in(below()), lists.find(other) == std::string::npos);
    }
}

TEST_F(Revocation, ClientsBelowARevokedAuthorityAreRefused) {
    revoke(test::make_crl(folder_, {below() / "signer-cert.pem"}));
    EXPECT_TRUE(lets_in(folder_));
    EXPECT_FALSE(lets_in(below()));
}

TEST_F(Revocation, AKeyNeedsNoCertificateAndIsNotRevoked) {
    revoke(test::make_crl(folder_, {client()}));
    TlsOptions server = both_kinds();
    server.verify_peer = true;
    EXPECT_TRUE(connect(server, {.keys = folder_}));
}

TEST_F(TlsTest, CertificatesAndKeysServeBothVersions) {
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        EXPECT_TRUE(connect(both_kinds(), {.version = version, .certificates = folder_}));
        EXPECT_TRUE(connect(both_kinds(), {.version = version, .keys = folder_}));
    }
}

TEST_F(TlsTest, AClientsNameIsThatOfItsKeyOrOfItsVerifiedCertificate) {
    TlsOptions verifying = both_kinds();
    verifying.verify_peer = true;
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        ASSERT_TRUE(connect(both_kinds(), {.version = version, .keys = folder_}));
        EXPECT_EQ(session_->client_name(), "alice");
        ASSERT_TRUE(connect(both_kinds(), {.version = version, .certificates = folder_}));
        EXPECT_EQ(session_->client_name(), "");
        ASSERT_TRUE(connect(verifying, {.version = version, .certificates = folder_}));
        EXPECT_EQ(session_->client_name(), "client");
    }
}

// Keys are bound to SHA-256. So this client's handshake goes on with the server's certificate.
TEST_F(TlsTest, AKeyThatWasOnlyOfferedProvesNoName) {
    const std::filesystem::path keys = folder_ / "forged";
    std::filesystem::create_directory(keys);
    std::ofstream(keys / "keys.psk") << "alice:" << std::string(64, '0') << "\n";
    ASSERT_TRUE(
        connect(both_kinds(),
                {.version = TLS1_3_VERSION, .keys = keys, .suites = "TLS_AES_256_GCM_SHA384"}));
    EXPECT_EQ(session_->client_name(), "");
}

TEST_F(TlsTest, TellsOnceWhichUnknownKeyAClientOffered) {
    const std::filesystem::path keys = folder_ / "mallory";
    test::make_key(keys, "mal\"lory");
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        // In TLS 1.3 the server then uses certificates, which this client does not check.
        EXPECT_EQ(connect(both_kinds(), {.version = version, .keys = keys}),
                  version == TLS1_3_VERSION);
        EXPECT_EQ(session_->take_unknown_key(), "mal\\x22lory");
        EXPECT_EQ(session_->take_unknown_key(), std::nullopt);
        session_->offered_unknown_key("another");
        EXPECT_EQ(session_->take_unknown_key(), std::nullopt);
        EXPECT_TRUE(connect(both_kinds(), {.version = version, .keys = folder_}));
        EXPECT_EQ(session_->take_unknown_key(), std::nullopt);
    }
}

TEST_F(TlsTest, ALongUnknownKeyIsCutShort) {
    ASSERT_TRUE(connect());
    session_->offered_unknown_key(std::string(10'000, '\n'));
    const auto said = session_->take_unknown_key();
    ASSERT_TRUE(said);
    EXPECT_LT(said->size(), 300u);
}

TEST_F(TlsTest, AFailureNamesTheClientOnceItHasAName) {
    ASSERT_TRUE(connect());
    session_->name_client("192.0.2.7 port 4711");
    to_server("no record of TLS");
    std::string none;
    EXPECT_EQ(read(none, 16), -EPROTO);
    EXPECT_TRUE(session_->failure().ends_with("; the client is 192.0.2.7 port 4711"))
        << session_->failure();
}

TEST_F(TlsTest, EachKindServesAlone) {
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        EXPECT_TRUE(connect({.mode = TlsMode::on, .certificates = folder_},
                            {.version = version, .certificates = folder_}));
        EXPECT_TRUE(connect({.mode = TlsMode::on, .psk_file = folder_ / "keys.psk"},
                            {.version = version, .keys = folder_}));
    }
}

TEST_F(TlsTest, VersionsBefore1_2AreRefused) {
    EXPECT_FALSE(connect(both_kinds(), {.version = TLS1_1_VERSION, .certificates = folder_}));
    EXPECT_FALSE(connect(both_kinds(), {.version = TLS1_VERSION, .certificates = folder_}));
}

TEST_F(TlsTest, CiphersThatKeepNoSecretOrDoNotAuthenticateAreRefused) {
    for (const char* cipher : {"AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-SHA", "aNULL", "eNULL"}) {
        EXPECT_FALSE(connect(
            both_kinds(), {.version = TLS1_2_VERSION, .certificates = folder_, .ciphers = cipher}))
            << cipher;
    }
    EXPECT_FALSE(
        connect(both_kinds(),
                {.version = TLS1_2_VERSION, .keys = folder_, .ciphers = "PSK-AES256-GCM-SHA384"}));
}

TEST_F(TlsTest, AnUnknownNameAndAWrongKeyAreRefused) {
    const auto others = folder_ / "others";
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        test::make_key(others, "mallory");
        EXPECT_FALSE(connect({.mode = TlsMode::on, .psk_file = folder_ / "keys.psk"},
                             {.version = version, .keys = others}));
        std::ofstream(others / "keys.psk") << "alice:" << std::string(64, '0') << "\n";
        EXPECT_FALSE(connect({.mode = TlsMode::on, .psk_file = folder_ / "keys.psk"},
                             {.version = version, .keys = others}));
    }
}

TEST_F(TlsTest, OnlyClientsThatItsAuthoritySignedAreServedWhereTheyAreVerified) {
    TlsOptions verifying = both_kinds();
    verifying.verify_peer = true;
    const auto strangers = folder_ / "strangers";
    test::make_certificates(strangers);
    // Strangers trust our authority, but their certificate is not signed by it.
    std::filesystem::copy_file(folder_ / "ca-cert.pem", strangers / "ca-cert.pem",
                               std::filesystem::copy_options::overwrite_existing);
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        EXPECT_TRUE(connect(verifying, {.version = version, .certificates = folder_}));
        EXPECT_FALSE(connect(verifying, {.version = version, .certificates = strangers}));
        EXPECT_NE(session_->failure(), "");
        EXPECT_TRUE(connect(verifying, {.version = version, .keys = folder_}));
    }
    std::filesystem::remove(strangers / "client-cert.pem");
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        EXPECT_FALSE(connect(verifying, {.version = version, .certificates = strangers}));
        EXPECT_TRUE(connect(both_kinds(), {.version = version, .certificates = strangers}));
    }
}

TEST_F(TlsTest, AnOptionInClearTextIsNoHandshake) {
    session_ = std::make_unique<TlsSession>(TlsContext::open(both_kinds()));
    to_server("IHAVEOPT" + std::string("\0\0\0\3\0\0\0\0", 8));
    EXPECT_EQ(session_->handshake(), -EPROTO);
    EXPECT_NE(session_->failure(), "");
}

// ---- Data ----

TEST_F(TlsTest, CarriesBytesInBothDirections) {
    ASSERT_TRUE(connect());
    const std::string there = random_text(40'000, 1);
    client_->write(there);
    to_server(client_->take());
    std::string got;
    EXPECT_EQ(read(got, 100'000), 40'000);
    EXPECT_EQ(got, there);
    EXPECT_EQ(read(got, 1), -EAGAIN);

    const std::string back = random_text(50'000, 2);
    const iovec pieces[] = {piece(back)};
    EXPECT_EQ(session_->write(pieces), 50'000);
    to_client();
    got.clear();
    EXPECT_EQ(client_->read(got, 50'000), Status::done);
    EXPECT_EQ(got, back);
}

TEST_F(TlsTest, PiecesOfAnyLengthArriveInTheirOrder) {
    ASSERT_TRUE(connect());
    std::mt19937 random(20261121);
    for (int round = 0; round < 50; ++round) {
        std::vector<std::string> texts;
        std::string all;
        for (int i = 0; i < 20; ++i) {
            // Sizes as of replies: many small ones, and some longer than a record.
            const size_t bytes = random() % 5 == 0 ? random() % 40'000 : random() % 50;
            texts.push_back(random_text(bytes, random()));
            all += texts.back();
        }
        std::vector<iovec> pieces;
        pieces.reserve(texts.size());
        for (const std::string& text : texts) pieces.push_back(piece(text));
        size_t written = 0;
        std::string got;
        while (written < all.size()) {
            const int32_t part = session_->write(pieces);
            ASSERT_GT(part, 0);
            written += static_cast<size_t>(part);
            to_client();
            client_->read(got, static_cast<size_t>(part));
            for (auto left = static_cast<size_t>(part); left > 0 && !pieces.empty();) {
                const size_t bytes = std::min(left, pieces.front().iov_len);
                pieces.front().iov_base = static_cast<char*>(pieces.front().iov_base) + bytes;
                pieces.front().iov_len -= bytes;
                left -= bytes;
                if (pieces.front().iov_len == 0) pieces.erase(pieces.begin());
            }
        }
        ASSERT_EQ(got, all);
    }
}

TEST_F(TlsTest, SmallPiecesShareARecord) {
    ASSERT_TRUE(connect());
    const std::string text = random_text(16, 3);
    const std::vector<iovec> pieces(1000, piece(text));
    EXPECT_EQ(session_->write(pieces), 16'000);
    EXPECT_LT(session_->output().size(), 16'100u);
}

TEST_F(TlsTest, TakesNoMoreThanItsBufferHoldsUntilSomeIsSent) {
    ASSERT_TRUE(connect());
    const std::string text = random_text(1 << 20, 4);
    const iovec pieces[] = {piece(text)};
    const int32_t first = session_->write(pieces);
    EXPECT_GT(first, 64 << 10);
    EXPECT_LE(session_->output().size(), TlsSession::output_bytes_max);
    EXPECT_EQ(session_->write(pieces), 0);
    to_client();
    const iovec rest[] = {piece(text, static_cast<size_t>(first))};
    EXPECT_EQ(session_->write(rest), first);
}

// Data that arrives with the end of the handshake is still there for the worker.
TEST_F(TlsTest, KeepsWhatWasReceivedWithTheHandshake) {
    session_ = std::make_unique<TlsSession>(TlsContext::open(both_kinds()));
    client_ = std::make_unique<TlsClient>(TlsClientOptions{.certificates = folder_});
    client_->handshake();
    to_server(client_->take());
    EXPECT_EQ(session_->handshake(), -EAGAIN);
    to_client();
    EXPECT_EQ(client_->handshake(), Status::done);
    client_->write("early");
    to_server(client_->take());  // the end of the handshake and the first data together
    EXPECT_EQ(session_->handshake(), 0);
    std::string got;
    EXPECT_EQ(read(got, 100), 5);
    EXPECT_EQ(got, "early");
}

TEST_F(TlsTest, ReadsARecordInAsManyPartsAsItIsAskedFor) {
    ASSERT_TRUE(connect());
    client_->write("0123456789");
    to_server(client_->take());
    std::string got;
    EXPECT_EQ(read(got, 4), 4);
    EXPECT_EQ(read(got, 4), 4);
    EXPECT_EQ(read(got, 4), 2);
    EXPECT_EQ(got, "0123456789");
}

// ---- The end ----

TEST_F(TlsTest, TheEndIsSaidToTheClient) {
    ASSERT_TRUE(connect());
    session_->close();
    EXPECT_TRUE(session_->closed());
    to_client();
    std::string got;
    EXPECT_EQ(client_->read(got, 1), Status::closed);
}

TEST_F(TlsTest, TheClientsEndIsHeardBehindItsData) {
    ASSERT_TRUE(connect());
    client_->write("last");
    client_->close();
    to_server(client_->take());
    std::string got;
    EXPECT_EQ(read(got, 100), 4);
    EXPECT_EQ(read(got, 100), 0);
    EXPECT_EQ(read(got, 100), 0);
    EXPECT_FALSE(session_->in_record());
}

TEST_F(TlsTest, KnowsThatARecordIsNotWhole) {
    ASSERT_TRUE(connect());
    client_->write("a record");
    const std::string bytes = client_->take();
    std::string got;
    for (size_t i = 0; i + 1 < bytes.size(); ++i) {
        to_server(bytes.substr(i, 1));
        EXPECT_EQ(read(got, 100), -EAGAIN);
        EXPECT_TRUE(session_->in_record());
    }
    to_server(bytes.substr(bytes.size() - 1));
    EXPECT_EQ(read(got, 100), 8);
    EXPECT_EQ(read(got, 100), -EAGAIN);
    EXPECT_FALSE(session_->in_record());
}

TEST_F(TlsTest, ATamperedRecordFailsForGoodAndNothingOfItIsRead) {
    ASSERT_TRUE(connect());
    client_->write("first");
    std::string bytes = client_->take();
    client_->write("second");
    std::string tampered = client_->take();
    tampered.back() = static_cast<char>(tampered.back() ^ 1);
    to_server(bytes + tampered);
    std::string got;
    EXPECT_EQ(read(got, 100), 5);
    EXPECT_EQ(got, "first");
    EXPECT_EQ(read(got, 100), -EPROTO);
    EXPECT_EQ(read(got, 100), -EPROTO);
    EXPECT_NE(session_->failure(), "");
    const std::string text = "not any more";
    const iovec pieces[] = {piece(text)};
    EXPECT_EQ(session_->write(pieces), -EPROTO);
}

TEST_F(TlsTest, ARecordThatIsPlayedAgainFails) {
    ASSERT_TRUE(connect());
    client_->write("once");
    const std::string bytes = client_->take();
    to_server(bytes + bytes);
    std::string got;
    EXPECT_EQ(read(got, 100), 4);
    EXPECT_EQ(read(got, 100), -EPROTO);
}

TEST_F(TlsTest, NewKeysAreTakenAndAnswered) {
    ASSERT_TRUE(connect(both_kinds(), {.version = TLS1_3_VERSION, .certificates = folder_}));
    client_->update_keys();
    client_->write("with new keys");
    to_server(client_->take());
    std::string got;
    EXPECT_EQ(read(got, 100), 13);
    const std::string text = "and back";
    const iovec pieces[] = {piece(text)};
    EXPECT_EQ(session_->write(pieces), 8);
    to_client();
    got.clear();
    EXPECT_EQ(client_->read(got, 8), Status::done);
    EXPECT_EQ(got, text);
}

// Each key update costs an answer. A client that does not read the answers fails.
TEST_F(TlsTest, AFloodOfWishesForNewKeysFails) {
    ASSERT_TRUE(connect(both_kinds(), {.version = TLS1_3_VERSION, .certificates = folder_}));
    std::string got;
    int32_t result = -EAGAIN;
    for (int i = 0; i < 10'000 && result == -EAGAIN; ++i) {
        client_->update_keys();
        to_server(client_->take());
        result = read(got, 100);
    }
    EXPECT_EQ(result, -EPROTO) << session_->failure();
    EXPECT_LE(session_->output().size(), TlsSession::output_bytes_max);
}

TEST_F(TlsTest, RandomBytesNeverHurt) {
    std::mt19937 random(20261121);
    for (int i = 0; i < 300; ++i) {
        ASSERT_TRUE(connect());
        client_->write(random_text(random() % 2000, random()));
        std::string bytes = client_->take();
        for (auto hits = 1 + random() % 3; hits > 0; --hits) {
            char& hit = bytes[random() % bytes.size()];
            hit = static_cast<char>(hit ^ (1 << random() % 8));
        }
        to_server(bytes);
        std::string got;
        EXPECT_LE(read(got, 10'000), 0);
    }
}

}  // namespace
}  // namespace blkscope::nbd
