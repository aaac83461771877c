#include "tools/web/access.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>

namespace blkscope::web {
namespace {

Request from(const std::string& host) {
    Request request;
    request.path = "/metrics";
    request.host = host;
    return request;
}

Access access_of_lab7(std::optional<std::string> token = {}) {
    return {{"Lab7"}, std::move(token)};
}

TEST(WebAccess, AnAddressIsNumericAndHasAPort) {
    EXPECT_EQ(parse_listen_address("127.0.0.1:9410").port, 9410);
    EXPECT_EQ(parse_listen_address("[::1]:0").host, "::1");
    EXPECT_TRUE(parse_listen_address("[::1]:0").is_ipv6);
    EXPECT_EQ(parse_listen_address("unix:/run/web.sock").unix_path, "/run/web.sock");
    for (const char* text :
         {"", "9410", ":9410", "localhost:9410", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
          "127.0.0.1:-1", "::1:80", "[127.0.0.1]:80", "127.0.0.1:80 ", "unix:"}) {
        EXPECT_THROW(static_cast<void>(parse_listen_address(text)), std::invalid_argument) << text;
    }
    EXPECT_THROW(static_cast<void>(parse_listen_address("unix:/" + std::string(200, 'x'))),
                 std::invalid_argument);
}

TEST(WebAccess, OnlyLoopbackAddressesAreOfThisMachine) {
    for (const char* text : {"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "unix:x"}) {
        EXPECT_TRUE(parse_listen_address(text).is_loopback()) << text;
    }
    for (const char* text : {"0.0.0.0:1", "10.0.0.1:1", "[::]:1", "[::ffff:127.0.0.1]:1"}) {
        EXPECT_FALSE(parse_listen_address(text).is_loopback()) << text;
    }
}

// An address means itself, whoever says so. No name of a site is one.
TEST(WebAccess, AnyAddressOfTheMachineMayBeTheHost) {
    const Access access = access_of_lab7();
    for (const char* host :
         {"10.0.0.7", "192.168.1.5:9410", "127.0.0.2:1", "0.0.0.0", "[fd00::1]", "[FD00::1]:9410",
          "[::ffff:10.0.0.7]:80", "[fe80::1%25eth0]:9410", "[::]", "10.0.0.7:", "localhost:"}) {
        EXPECT_EQ(access.check(from(host)), 200) << host;
    }
    for (const char* host : {"10.0.0", "10.0.0.7.8", "10.0.0.256", "0x7f.0.0.1", "10.0.0.7.",
                             "[10.0.0.7]", "fd00::1", "[fd00::g]", "[fd00::1", "[]", "[%25eth0]",
                             "10.0.0.7@evil.example", "evil.example:", ":9410", ":"}) {
        EXPECT_EQ(access.check(from(host)), 403) << host;
    }
}

TEST(WebAccess, TheNameOfTheMachineIsAHost) {
    std::array<char, 256> name{};
    ASSERT_EQ(gethostname(name.data(), name.size() - 1), 0);
    EXPECT_EQ(access_of_lab7().check(from(std::string(name.data()) + ":9410")), 200);
}

// Of HTTP/1.0, and of clients of a Unix socket. No browser sends such a request.
TEST(WebAccess, ARequestWithoutAHostIsAnswered) {
    EXPECT_EQ(access_of_lab7().check(from("")), 200);
    EXPECT_EQ(access_of_lab7("0123456789abcdef").check(from("")), 401);
}

TEST(WebAccess, ARefusalSaysWhatWouldHelp) {
    const Access access = access_of_lab7("0123456789abcdef");
    EXPECT_EQ(access.refusal(from("lab7")), "A token is needed.\n");
    EXPECT_EQ(access.refusal(from("Lab8:9410")),
              "The Host lab8 is no name of this server. If it is one, start blkscope web with "
              "--host lab8.\n");
    for (const char* host : {"<script>", "a b", "lab8:x y", "[fd00::g]"}) {
        EXPECT_EQ(access.refusal(from(host)), "The Host is no name of this server.\n") << host;
    }
    Request page = from("lab7");
    page.origin = "http://evil.example";
    EXPECT_EQ(access.refusal(page), "The page that asks is of another site.\n");
}

TEST(WebAccess, AForeignHostIsRefusedAsItMayBeRebound) {
    const Access access = access_of_lab7();
    for (const char* host : {"localhost", "LOCALHOST:9410", "127.0.0.1:1", "[::1]:9410", "10.0.0.7",
                             "lab7:9410", "LAB7"}) {
        EXPECT_EQ(access.check(from(host)), 200) << host;
    }
    for (const char* host :
         {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost:x",
          "localhost:9410:1", "localhost:99999", "[::1", "lab7."}) {
        EXPECT_EQ(access.check(from(host)), 403) << host;
    }
}

TEST(WebAccess, AnotherOriginIsRefused) {
    const Access access = access_of_lab7();
    Request request = from("127.0.0.1:9410");
    request.origin = "http://127.0.0.1:9410";
    EXPECT_EQ(access.check(request), 200);
    for (const char* origin : {"null", "http://evil.example", "http://127.0.0.1:80",
                               "http://127.0.0.1:9410.evil.example", "file://"}) {
        request.origin = origin;
        EXPECT_EQ(access.check(request), 403) << origin;
    }
}

TEST(WebAccess, APageOfAnotherSiteMayOnlyLinkToTheFirstPage) {
    const Access access = access_of_lab7();
    Request request = from("127.0.0.1:9410");
    request.fetch_site = "cross-site";
    request.fetch_mode = "no-cors";
    EXPECT_EQ(access.check(request), 403);
    request.fetch_mode = "navigate";
    EXPECT_EQ(access.check(request), 403);
    request.path = "/";
    EXPECT_EQ(access.check(request), 200);
    request.fetch_site = "same-site";
    request.fetch_mode = "cors";
    EXPECT_EQ(access.check(request), 403);
    request.fetch_site = "same-origin";
    EXPECT_EQ(access.check(request), 200);
}

TEST(WebAccess, ATokenIsNeededWhereThereIsOne) {
    const Access access = access_of_lab7("0123456789abcdef");
    Request request = from("lab7");
    EXPECT_EQ(access.check(request), 401);
    for (const char* wrong : {"Bearer ", "Bearer 0123456789abcdeF", "Bearer 0123456789abcde",
                              "Bearer 0123456789abcdef0", "Basic 0123456789abcdef",
                              "0123456789abcdef", "Bearer 0123456789abcdef0123456789abcdef"}) {
        request.authorization = wrong;
        EXPECT_EQ(access.check(request), 401) << wrong;
    }
    request.authorization = "bearer 0123456789abcdef";
    EXPECT_EQ(access.check(request), 200);
    request.host = "evil.example";
    EXPECT_EQ(access.check(request), 403);
}

TEST(WebAccess, ATokenIsOneLongLineOfAFile) {
    const std::string path = testing::TempDir() + "token" + std::to_string(getpid());
    const auto token_of = [&](const std::string& text) {
        std::ofstream(path) << text;
        return read_token(path);
    };
    EXPECT_EQ(token_of("0123456789abcdef\n"), "0123456789abcdef");
    EXPECT_EQ(token_of("0123456789abcdef\r\nmore"), "0123456789abcdef");
    for (const std::string& text :
         {std::string(), std::string("short\n"), std::string("0123456789 abcdef"),
          std::string(2000, 'x'), std::string(32, '\0')}) {
        EXPECT_THROW(token_of(text), std::invalid_argument) << text;
    }
    std::filesystem::remove(path);
    EXPECT_THROW(static_cast<void>(read_token(path)), std::invalid_argument);
}

}  // namespace
}  // namespace blkscope::web
