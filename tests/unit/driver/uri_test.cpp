#include "driver/nbd/uri.hpp"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string>

#include "../failure.hpp"

namespace blkscope::nbd {
namespace {

TEST(Uri, NamesAnExportOnAUnixSocket) {
    const Uri uri = parse_uri("nbd+unix:///disk.img?socket=/run/a b.sock");
    EXPECT_EQ(uri.socket_path, "/run/a b.sock");
    EXPECT_EQ(uri.export_name, "disk.img");
    EXPECT_EQ(parse_uri("nbd+unix:///?socket=s").export_name, "");
    EXPECT_EQ(parse_uri("nbd+unix://?socket=s").export_name, "");
    EXPECT_EQ(parse_uri("nbd+unix:///?tls-type=x509&socket=s").socket_path, "s");
}

TEST(Uri, NamesAnExportOverTcp) {
    const Uri uri = parse_uri("nbd://example.org:2000/disk");
    EXPECT_EQ(uri.host, "example.org");
    EXPECT_EQ(uri.port, 2000);
    EXPECT_EQ(uri.export_name, "disk");
    EXPECT_EQ(uri.socket_path, "");
    EXPECT_EQ(parse_uri("nbd://localhost").port, default_port);
    EXPECT_EQ(parse_uri("nbd://localhost//disk").export_name, "/disk");
}

TEST(Uri, TakesAnAddressOfTheSixthVersionInBrackets) {
    const Uri uri = parse_uri("nbd://[::1]:2000/");
    EXPECT_EQ(uri.host, "::1");
    EXPECT_EQ(uri.port, 2000);
    EXPECT_EQ(parse_uri("nbd://[fe80::2]/x").port, default_port);
    EXPECT_EQ(uri.text(), "nbd://[::1]:2000/");
}

TEST(Uri, SaysTlsWithItsSchemeAndItsParameters) {
    const Uri uri = parse_uri(
        "nbds://alice@localhost/disk?tls-certificates=/pki%20dir&tls-hostname=example.org");
    EXPECT_TRUE(uri.tls);
    EXPECT_EQ(uri.user, "alice");
    EXPECT_EQ(uri.host, "localhost");
    EXPECT_EQ(uri.tls_certificates, "/pki dir");
    EXPECT_EQ(uri.tls_hostname, "example.org");
    EXPECT_EQ(uri.text(),
              "nbds://alice@localhost:10809/disk?tls-certificates=/pki%20dir"
              "&tls-hostname=example.org");
    const Uri key = parse_uri("nbds://bob@h/?tls-psk-file=/a%20b&tls-verify-peer=false");
    EXPECT_EQ(key.tls_psk_file, "/a b");
    EXPECT_FALSE(key.tls_verify_peer);
    EXPECT_EQ(key.text(), "nbds://bob@h:10809/?tls-verify-peer=false&tls-psk-file=/a%20b");
    EXPECT_TRUE(parse_uri("nbds://h/?tls-verify-peer=true").tls_verify_peer);
    EXPECT_TRUE(parse_uri("nbds+unix:///?socket=s").tls);
    EXPECT_FALSE(parse_uri("nbd+unix:///?socket=s").tls);
    EXPECT_FALSE(parse_uri("nbd://localhost/").tls);
}

TEST(Uri, SaysWhichUriIsWrongAndWhy) {
    const std::pair<const char*, const char*> wrong[] = {
        {"http://host/", "none of nbd://, nbds://, nbd+unix:// and nbds+unix://"},
        {"nbd:///disk", "no host"},
        {"nbd://[::1/", "'[' without ']'"},
        {"nbd://[::1]2000/", "']' without ':' and a port after it"},
        {"nbd://host:0/", "port '0' is not 1 to 65535"},
        {"nbd://host:65536/", "port '65536' is not 1 to 65535"},
        {"nbd://host:/", "port '' is not 1 to 65535"},
        {"nbd://host:12x/", "port '12x' is not 1 to 65535"},
        {"nbd+unix:///disk", "no socket=PATH"},
        {"nbd+unix:///disk?socket=", "no socket=PATH"},
        {"nbd+unix:///%?socket=s", "'%' without two hexadecimal digits after it"},
        {"nbd+unix:///%4?socket=s", "'%' without two hexadecimal digits after it"},
        {"nbd+unix:///%4g?socket=s", "'%' without two hexadecimal digits after it"},
        {"nbds://h/?tls-verify-peer=no", "tls-verify-peer=no is neither true nor false"},
        {"nbd+unix:///a?socket=%00", "'%' without two hexadecimal digits after it"},
    };
    for (const auto& [text, why] : wrong) {
        EXPECT_EQ(failure_of([uri = text] { return parse_uri(uri); }),
                  "URI '" + std::string(text) + "': " + why);
    }
}

TEST(Uri, HasNoZeroByte) {
    EXPECT_THROW(parse_uri(std::string("nbd://host/a\0b", 14)), std::invalid_argument);
}

// For names and paths of any bytes except NUL.
TEST(Uri, ItsTextIsReadBackAsItWas) {
    std::mt19937 random(20261121);
    const auto any_text = [&](size_t bytes) {
        std::string text(bytes, '\0');
        for (char& c : text) c = static_cast<char>(1 + random() % 255);
        return text;
    };
    for (int i = 0; i < 200; ++i) {
        Uri uri;
        uri.socket_path = "/" + any_text(random() % 60);
        uri.export_name = any_text(random() % 60);
        uri.tls = random() % 2 == 0;
        uri.user = any_text(random() % 10);
        uri.tls_certificates = any_text(random() % 60);
        const Uri back = parse_uri(uri.text());
        EXPECT_EQ(back.socket_path, uri.socket_path);
        EXPECT_EQ(back.export_name, uri.export_name);
        EXPECT_EQ(back.tls, uri.tls);
        EXPECT_EQ(back.user, uri.user);
        EXPECT_EQ(back.tls_certificates, uri.tls_certificates);
    }
}

TEST(Uri, ItsHostIsReadBackAsItWas) {
    for (const std::string host :
         {"a/b", "a?b", "a%2Fb", "a@b", "a:]b", "[a", "a:b", "fe80::1%eth0", "a:/b", "a b",
          "localhost", "192.0.2.7", "\xff"}) {
        const Uri uri{.host = host, .export_name = "disk"};
        const Uri back = parse_uri(uri.text());
        EXPECT_EQ(back.host, host) << uri.text();
        EXPECT_EQ(back.export_name, "disk") << uri.text();
    }
}

}  // namespace
}  // namespace blkscope::nbd
