// blkscope web with TLS: curl and openssl(1) read over it, and hostile clients take nothing from others.

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "credentials.hpp"
#include "raw_client.hpp"
#include "served_device.hpp"

namespace blkscope::test {
namespace {

class WebTls : public ServedDevice {
  protected:
    void SetUp() override {
        ServedDevice::SetUp();
        make_certificates(path("pki"));
    }

    void start_web(const std::vector<std::string>& options = {}) {
        std::vector<std::string> command{BLKSCOPE_BINARY, "web",         "--listen",
                                         "127.0.0.1:0",   "--tls-certs", path("pki")};
        command.insert(command.end(), options.begin(), options.end());
        web_ = std::make_unique<Process>(command, path("web.out"), path("web.err"));
        ASSERT_TRUE(eventually([&] { return web_->output().ends_with("/\n"); }));
        url_ = web_->output();
        url_.pop_back();
        ASSERT_TRUE(url_.starts_with("https://127.0.0.1:")) << url_;
    }

    [[nodiscard]] std::string address() const { return url_.substr(8, url_.size() - 9); }
    [[nodiscard]] uint16_t port() const {
        return static_cast<uint16_t>(std::stoi(address().substr(address().find(':') + 1)));
    }

    CommandResult curl(const std::string& target, const std::vector<std::string>& options = {}) {
        std::vector<std::string> command{"curl", "-sS",      "--max-time",
                                         "20",   "--cacert", path("pki/ca-cert.pem")};
        command.insert(command.end(), options.begin(), options.end());
        command.push_back(url_ + target);
        return run(command);
    }
    std::vector<std::string> own_certificate() {
        return {"--cert", path("pki/client-cert.pem"), "--key", path("pki/client-key.pem")};
    }
    void expect_served() {
        const CommandResult reply = curl("metrics", own_certificate());
        EXPECT_EQ(reply.status, 0) << reply.output;
        EXPECT_NE(reply.output.find("blkscope_reads_completed_total{device=\"nbd0\"} 3\n"),
                  std::string::npos)
            << reply.output;
    }
    void do_requests() {
        Client client(uri());
        for (int i = 0; i < 3; ++i) ASSERT_EQ(client.try_read(0, 4096), 0);
    }

    static std::string text_of(const std::string& file) {
        std::ifstream stream(file);
        return {std::istreambuf_iterator<char>(stream), {}};
    }

    uint64_t resident_kib() { return memory_kib(web_->pid(), "VmRSS:"); }

    std::unique_ptr<Process> web_;
    std::string url_;
};

TEST_F(WebTls, CurlReadsEachPage) {
    NEEDS("curl");
    serve("memory:1M");
    do_requests();
    start_web();
    expect_served();
    EXPECT_TRUE(curl("").output.starts_with("<!doctype html>"));
    EXPECT_NE(curl("api/v1/devices").output.find("blockdev.iostat/1"), std::string::npos);
    // Curl ends itself, because a stream does not.
    const CommandResult stream = curl("api/v1/stream", {"-N", "--max-time", "3"});
    EXPECT_EQ(stream.status, 28) << stream.output;
    EXPECT_NE(stream.output.find("\ndata: "), std::string::npos) << stream.output;
    EXPECT_EQ(curl("metrics", {"--tls-max", "1.1"}).status, 35);
    web_->signal(SIGTERM);
    EXPECT_EQ(web_->wait(), 0);
}

TEST_F(WebTls, OnlyClientsWithACertificateReadIfThatIsAsked) {
    NEEDS("curl");
    serve("memory:1M");
    do_requests();
    start_web({"--tls-verify-peer"});
    expect_served();
    const CommandResult without = curl("metrics");
    EXPECT_NE(without.status, 0);
    EXPECT_EQ(without.output.find("blkscope_"), std::string::npos) << without.output;
    make_certificates(path("foreign"));
    EXPECT_NE(curl("metrics", {"--cert", path("foreign/client-cert.pem"), "--key",
                               path("foreign/client-key.pem")})
                  .status,
              0);
    expect_served();
    web_.reset();
    std::ofstream(path("pki/ca-crl.pem")) << make_crl(path("pki"), {path("pki/client-cert.pem")});
    start_web({"--tls-verify-peer"});
    const CommandResult revoked = curl("metrics", own_certificate());
    EXPECT_NE(revoked.status, 0);
    EXPECT_NE(revoked.output.find("revoked"), std::string::npos) << revoked.output;
}

TEST_F(WebTls, AHangupReadsTheCertificatesAgain) {
    NEEDS("curl");
    serve("memory:1M");
    do_requests();
    start_web({"--tls-verify-peer"});
    expect_served();
    std::ofstream(path("pki/ca-crl.pem")) << make_crl(path("pki"), {path("pki/client-cert.pem")});
    expect_served();  // nothing was read again
    web_->signal(SIGHUP);
    EXPECT_TRUE(eventually([&] {
        return curl("metrics", own_certificate()).output.find("revoked") != std::string::npos;
    }));
    std::filesystem::remove_all(path("pki"));
    make_certificates(path("pki"));  // another authority
    EXPECT_NE(curl("metrics", own_certificate()).status, 0);
    web_->signal(SIGHUP);
    EXPECT_TRUE(eventually([&] { return curl("metrics", own_certificate()).status == 0; }));
    expect_served();
    web_->signal(SIGTERM);
    EXPECT_EQ(web_->wait(), 0);
}

TEST_F(WebTls, AHangupChangesNothingIfAFileIsWrong) {
    NEEDS("curl");
    serve("memory:1M");
    do_requests();
    std::ofstream(path("token")) << "0123456789abcdef\n";
    start_web({"--token-file", path("token")});
    const std::vector<std::string> first{"-H", "Authorization: Bearer 0123456789abcdef"};
    const std::vector<std::string> second{"-H", "Authorization: Bearer fedcba9876543210"};
    const auto is_served = [&](const std::vector<std::string>& with) {
        return curl("metrics", with).output.find("blkscope_reads_completed") != std::string::npos;
    };
    std::ofstream(path("token")) << "fedcba9876543210\n";
    std::filesystem::rename(path("pki/server-key.pem"), path("pki/away"));
    web_->signal(SIGHUP);
    EXPECT_TRUE(eventually([&] {
        return text_of(path("web.err")).find("; everything stays as it was\n") != std::string::npos;
    })) << text_of(path("web.err"));
    EXPECT_TRUE(is_served(first));
    EXPECT_FALSE(is_served(second));
    std::filesystem::rename(path("pki/away"), path("pki/server-key.pem"));
    web_->signal(SIGHUP);
    EXPECT_TRUE(eventually([&] { return is_served(second); })) << text_of(path("web.err"));
    EXPECT_FALSE(is_served(first));
}

TEST_F(WebTls, ATokenIsAskedForBehindTls) {
    NEEDS("curl");
    serve("memory:1M");
    std::ofstream(path("token")) << "0123456789abcdef\n";
    start_web({"--token-file", path("token")});
    EXPECT_EQ(curl("metrics").output, "A token is needed.\n");
    const CommandResult reply = curl("metrics", {"-H", "Authorization: Bearer 0123456789abcdef"});
    EXPECT_NE(reply.output.find("blkscope_reads_completed_total"), std::string::npos);
}

// A record may have several requests. The second one is there without an event of the socket.
TEST_F(WebTls, RequestsOfOneRecordAreAllAnswered) {
    NEEDS("openssl");
    serve("memory:1M");
    start_web();
    std::string requests;
    for (int i = 0; i < 5; ++i) {
        requests +=
            "GET /style.css HTTP/1.1\r\nHost: localhost\r\nX-Field: " + std::string(6000, 'x') +
            "\r\n\r\n";
    }
    requests += "GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    std::ofstream(path("requests")) << requests;
    const CommandResult reply = run({"sh", "-c",
                                     "{ cat " + path("requests") +
                                         "; sleep 2; } | openssl s_client "
                                         "-quiet -ign_eof -verify_return_error -CAfile " +
                                         path("pki/ca-cert.pem") + " -connect " + address()});
    size_t replies = 0;
    for (size_t at = 0; (at = reply.output.find("HTTP/1.1 200 OK", at)) != std::string::npos;
         ++at) {
        ++replies;
    }
    EXPECT_EQ(replies, 5u) << reply.output;
    EXPECT_NE(reply.output.find("HTTP/1.1 404 "), std::string::npos);
}

TEST_F(WebTls, HalfAndForeignHandshakesTakeNothingFromOthers) {
    NEEDS("curl");
    serve("memory:1M");
    do_requests();
    start_web();
    expect_served();
    const uint64_t before = resident_kib();
    RawClient plain(port());
    plain.text("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").send();
    EXPECT_TRUE(plain.closed());
    RawClient noise(port());
    noise.text(std::string(100'000, '\x17')).send();
    EXPECT_TRUE(noise.closed());
    // The beginning of a record of a handshake, of which the rest never comes.
    const std::string half("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
    std::list<RawClient> clients;
    for (int i = 0; i < 400; ++i) {
        clients.emplace_back(port());
        if (i % 2 == 0) clients.back().text(half).send();
        if (i % 100 == 0) expect_served();
    }
    expect_served();
    EXPECT_LT(resident_kib() - before, grown_kib(64));
    for (RawClient& client : clients) EXPECT_TRUE(client.closed());
    expect_served();
}

TEST_F(WebTls, ACertificateIsACondition) {
    const auto status = [&](std::vector<std::string> options) {
        options.insert(options.begin(), {BLKSCOPE_BINARY, "web", "--listen", "0.0.0.0:0"});
        const CommandResult result = run(options);
        EXPECT_TRUE(result.output.starts_with("blkscope: ")) << result.output;
        return result.status;
    };
    EXPECT_EQ(status({}), 2);
    EXPECT_EQ(status({"--tls-certs", path("pki")}), 2);  // every client could read
    EXPECT_EQ(status({"--tls-verify-peer"}), 2);
    EXPECT_EQ(status({"--tls-certs", path("nothing"), "--tls-verify-peer"}), 2);
    std::ofstream(path("pki/server-key.pem")) << "no key\n";
    EXPECT_EQ(status({"--tls-certs", path("pki"), "--tls-verify-peer"}), 2);
}

TEST_F(WebTls, BeyondThisMachineACertificateOpensIt) {
    NEEDS("curl");
    serve("memory:1M");
    do_requests();
    web_ = std::make_unique<Process>(
        std::vector<std::string>{BLKSCOPE_BINARY, "web", "--listen", "0.0.0.0:0", "--tls-certs",
                                 path("pki"), "--tls-verify-peer"},
        path("web.out"), path("web.err"));
    ASSERT_TRUE(eventually([&] { return web_->output().ends_with("/\n"); }));
    const std::string said = web_->output();
    url_ = "https://localhost" + said.substr(said.rfind(':'), said.size() - said.rfind(':') - 1);
    expect_served();
}

}  // namespace
}  // namespace blkscope::test
