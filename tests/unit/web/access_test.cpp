#include "tools/web/access.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

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

Access access_at(const std::string& listen, std::optional<std::string> token = {}) {
    return {parse_listen_address(listen), {"Lab7"}, std::move(token)};
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

TEST(WebAccess, AForeignHostIsRefusedAsItMayBeRebound) {
    const Access access = access_at("10.0.0.7:9410");
    for (const char* host : {"localhost", "LOCALHOST:9410", "127.0.0.1:1", "[::1]:9410", "10.0.0.7",
                             "lab7:9410", "LAB7"}) {
        EXPECT_EQ(access.check(from(host)), 200) << host;
    }
    for (const char* host :
         {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost:x",
          "localhost:9410:1", "localhost:99999", "[::1", "lab7."}) {
        EXPECT_EQ(access.check(from(host)), 403) << host;
    }
}

TEST(WebAccess, AnotherOriginIsRefused) {
    const Access access = access_at("127.0.0.1:9410");
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
    const Access access = access_at("127.0.0.1:9410");
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
    const Access access = access_at("0.0.0.0:9410", "0123456789abcdef");
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
