#include "tools/web/request.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace blkscope::web {
namespace {

int status_of(const std::string& text) {
    return parse_request(text).status;
}

TEST(WebRequest, HasItsPartsAndItsLength) {
    const std::string head =
        "GET /metrics?device=nbd%2A&x=a+b&empty HTTP/1.1\r\nhOST: localhost:9410\r\n"
        "Accept:  text/plain \r\nOrigin: http://localhost:9410\r\nSec-Fetch-Site: none\r\n\r\n";
    const ParsedRequest parsed = parse_request(head + "GET /next");
    ASSERT_EQ(parsed.status, 200);
    EXPECT_EQ(parsed.bytes, head.size());
    const Request& request = parsed.request;
    EXPECT_FALSE(request.is_head);
    EXPECT_TRUE(request.keep_alive);
    EXPECT_EQ(request.path, "/metrics");
    EXPECT_EQ(request.parameter("device"), "nbd*");
    EXPECT_EQ(request.parameter("x"), "a b");
    EXPECT_EQ(request.parameter("empty"), "");
    EXPECT_FALSE(request.parameter("none"));
    EXPECT_EQ(request.host, "localhost:9410");
    EXPECT_EQ(request.accept, "text/plain");
    EXPECT_EQ(request.origin, "http://localhost:9410");
    EXPECT_EQ(request.fetch_site, "none");
}

TEST(WebRequest, TheConnectionIsKeptUnlessTheClientSaysOtherwise) {
    EXPECT_FALSE(parse_request("HEAD / HTTP/1.0\r\nHost: a\r\n\r\n").request.keep_alive);
    EXPECT_TRUE(parse_request("HEAD / HTTP/1.0\r\nHost: a\r\n\r\n").request.is_head);
    EXPECT_FALSE(
        parse_request("GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n").request.keep_alive);
}

// RFC 9112, 3.2 and 9.3; RFC 9112, appendix C.2.2.
TEST(WebRequest, OldClientsNeedNoHostAndMayAskToBeKept) {
    const ParsedRequest old = parse_request("GET /metrics HTTP/1.0\r\n\r\n");
    EXPECT_EQ(old.status, 200);
    EXPECT_EQ(old.request.path, "/metrics");
    EXPECT_EQ(old.request.host, "");
    EXPECT_FALSE(old.request.keep_alive);
    EXPECT_EQ(parse_request("GET http://a/b HTTP/1.0\r\n\r\n").request.host, "a");
    EXPECT_EQ(parse_request("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n").status, 400);
    EXPECT_EQ(parse_request("GET /metrics HTTP/1.1\r\n\r\n").status, 400);
    const auto keeps = [](const std::string& version, const std::string& fields) {
        return parse_request("GET / HTTP/" + version + "\r\nHost: a\r\n" + fields + "\r\n")
            .request.keep_alive;
    };
    EXPECT_TRUE(keeps("1.0", "Connection: Keep-Alive\r\n"));
    EXPECT_FALSE(keeps("1.0", "Connection: keep-alive, close\r\n"));
    EXPECT_FALSE(keeps("1.1", "Connection: close\r\nConnection: keep-alive\r\n"));
    EXPECT_TRUE(keeps("1.1", "Connection: keep-alive, TE\r\n"));
    EXPECT_FALSE(keeps("1.0", "Connection: TE\r\n"));
}

TEST(WebRequest, EachBeginningOfAHeadIsIncomplete) {
    const std::string head =
        "GET / HTTP/1.1\r\nHost: a\r\nX-Long: " + std::string(500, 'x') + "\r\n\r\n";
    for (size_t bytes = 0; bytes < head.size(); ++bytes) {
        ASSERT_EQ(status_of(head.substr(0, bytes)), 0) << bytes;
    }
    EXPECT_EQ(status_of(head), 200);
}

// RFC 9112, 3.2.2: the target's host counts, and not the field's. Access judges that host.
TEST(WebRequest, ATargetMayHaveTheHostInIt) {
    const auto parsed = [](const std::string& target) {
        return parse_request("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    };
    const ParsedRequest whole = parsed("http://evil:9410/metrics?device=a");
    EXPECT_EQ(whole.status, 200);
    EXPECT_EQ(whole.request.host, "evil:9410");
    EXPECT_EQ(whole.request.path, "/metrics");
    EXPECT_EQ(whole.request.parameter("device"), "a");
    EXPECT_EQ(parsed("HTTPS://evil").request.path, "/");
    EXPECT_EQ(parsed("http://evil?device=a").request.parameter("device"), "a");
    EXPECT_EQ(parsed("/http://evil/").request.host, "localhost");
    EXPECT_EQ(status_of("GET http://localhost/ HTTP/1.1\r\n\r\n"), 400);
}

TEST(WebRequest, WhatIsDoubtfulIsRefused) {
    const std::string host = "Host: a\r\n\r\n";
    const std::vector<std::pair<std::string, int>> all{
        {"POST / HTTP/1.1\r\n" + host, 405},
        {"OPTIONS * HTTP/1.1\r\n" + host, 405},
        {"G\x01T / HTTP/1.1\r\n" + host, 400},
        {"GET  / HTTP/1.1\r\n" + host, 400},
        {"GET / HTTP/1.1 \r\n" + host, 505},
        {"GET / HTTP/2.0\r\n" + host, 505},
        {"GET /\r\n" + host, 400},
        {"GET http:///metrics HTTP/1.1\r\n" + host, 400},
        {"GET http://a@evil/ HTTP/1.1\r\n" + host, 400},
        {"GET ftp://evil/ HTTP/1.1\r\n" + host, 400},
        {"GET /%zz HTTP/1.1\r\n" + host, 400},
        {"GET /%4 HTTP/1.1\r\n" + host, 400},
        {"GET /\x7f HTTP/1.1\r\n" + host, 400},
        {"GET /" + std::string(3000, 'x') + " HTTP/1.1\r\n" + host, 414},
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\n" + host, 400},
        {"GET / HTTP/1.1\nHost: a\n\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n: a\r\n" + host, 400},
        {"GET / HTTP/1.1\r\nfield\r\n" + host, 400},
        {"GET / HTTP/1.1\r\nX: a\r\n folded\r\n" + host, 400},
        {"GET / HTTP/1.1\r\nContent-Length: 5\r\n" + host, 413},
        {"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + host, 400},
        {"\x16\x03\x01\x02", 400},
        {"GETGETGETGETGETGETGETGET", 400},
        {"GET / HTTP/1.1\r\nX: " + std::string(9000, 'x'), 431},
        {"GET / HTTP/1.1\r\nX: " + std::string(9000, 'x') + "\r\n" + host, 431}};
    for (const auto& [text, status] : all) {
        EXPECT_EQ(status_of(text), status) << text.substr(0, 60);
    }
    std::string many = "GET / HTTP/1.1\r\n";
    for (int i = 0; i < 70; ++i) many += "X: y\r\n";
    EXPECT_EQ(status_of(many + host), 431);
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nContent-Length: 0\r\n" + host), 200);
}

}  // namespace
}  // namespace blkscope::web
