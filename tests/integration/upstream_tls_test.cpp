// blkscope in front of servers that speak TLS.
#include <gtest/gtest.h>
#include <libnbd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "credentials.hpp"
#include "upstream_device.hpp"

namespace blkscope::test {
namespace {

constexpr uint64_t tls_image_bytes = uint64_t{8} << 20;

class UpstreamTls : public ServedDevice {
  protected:
    void SetUp() override {
        ServedDevice::SetUp();
        make_certificates(pki());
        make_key(pki(), "alice");
        make_image("disk.img", tls_image_bytes);
        std::fstream(path("disk.img"), std::ios::binary | std::ios::in | std::ios::out)
            << std::string(1 << 20, 'd');
    }

    [[nodiscard]] std::string pki() const { return path("pki"); }
    [[nodiscard]] std::string certificates(const std::string& folder = "pki") const {
        return "tls-certificates=" + path(folder);
    }
    [[nodiscard]] std::string keys(const std::string& folder = "pki") const {
        return "tls-psk-file=" + path(folder) + "/keys.psk";
    }
    [[nodiscard]] std::string on_port(const std::string& options, const std::string& user = "") {
        return "nbds://" + user + "localhost:" + port_ + "/?" + options;
    }
    [[nodiscard]] std::string on_socket(const std::string& options, const std::string& user = "") {
        return "nbds+unix://" + user + "/?socket=" + path("up.sock") + "&" + options;
    }

    void start_upstream(std::vector<std::string> command) {
        upstream_ = std::make_unique<Process>(std::move(command), path("upstream.log"));
    }
    void start_nbdkit(const std::string& tls) {
        start_upstream({"nbdkit", "-f", "--ip-addr", "127.0.0.1", "-p", port_, "--tls=require", tls,
                        "file", path("disk.img")});
    }
    /// Our own server, which can be killed and started again.
    void start_ours() {
        upstream_.reset();
        std::filesystem::remove(path("up.sock"));
        upstream_ = serve_beside(
            path("disk.img"), "up.sock",
            {"--tls", "require", "--tls-certs", pki(), "--tls-psk", pki() + "/keys.psk"});
    }
    void kill_upstream() {
        upstream_->signal(SIGKILL);
        upstream_->wait();
    }

    /// Serves the upstream, which has the image, and compares both ways.
    void expect_served(const std::string& upstream) {
        std::filesystem::remove(socket_);
        serve("disk=" + upstream, {"--upstream-wait", "--upstream-connections", "2"});
        ASSERT_TRUE(eventually([&] {
            return run({"nbdinfo", "--size", uri()}).status == 0;
        })) << server_->output();
        Client client(uri());
        EXPECT_EQ(client.read(0, 1 << 20), std::vector<char>(1 << 20, 'd'));
        EXPECT_EQ(client.try_write(4 << 20, 1 << 20, 'w'), 0);
        EXPECT_EQ(client.read(4 << 20, 1 << 20), std::vector<char>(1 << 20, 'w'));
        EXPECT_EQ(nbd_flush(client.get(), 0), 0);
        stop_server();
    }
    std::string refusal(const std::string& upstream) {
        return refused({"serve", upstream, "--unix", path("us.sock")}, 1);
    }

    const std::string port_ = std::to_string(free_port());
    std::unique_ptr<Process> upstream_;
};

TEST_F(UpstreamTls, NbdkitWithCertificatesIsServed) {
    NEEDS("nbdkit");
    start_nbdkit("--tls-certificates=" + pki());
    expect_served(on_port(certificates()));
}

TEST_F(UpstreamTls, NbdkitThatVerifiesItsClientsIsServed) {
    NEEDS("nbdkit");
    start_upstream({"nbdkit", "-f", "--ip-addr", "127.0.0.1", "-p", port_, "--tls=require",
                    "--tls-certificates=" + pki(), "--tls-verify-peer", "file", path("disk.img")});
    expect_served(on_port(certificates()));
    std::filesystem::remove(pki() + "/client-cert.pem");
    EXPECT_FALSE(refusal(on_port(certificates())).empty());
}

TEST_F(UpstreamTls, NbdkitWithAKeyIsServed) {
    NEEDS("nbdkit");
    start_nbdkit("--tls-psk=" + pki() + "/keys.psk");
    expect_served(on_port(keys(), "alice@"));
}

TEST_F(UpstreamTls, ARevokedUpstreamIsRefused) {
    start_ours();
    expect_served(on_socket(certificates() + "&tls-hostname=localhost"));
    start_ours();
    std::ofstream(pki() + "/ca-crl.pem") << make_crl(pki(), {pki() + "/server-cert.pem"});
    const std::string revoked = on_socket(certificates());
    EXPECT_NE(refusal(revoked).find("TLS: certificate verify failed (certificate revoked)"),
              std::string::npos);
    expect_served(revoked + "&tls-verify-peer=false");
}

TEST_F(UpstreamTls, QemuNbdIsServedWithBothVersions) {
    NEEDS("qemu-nbd");
    for (const std::string versions : {"NORMAL:-VERS-TLS1.3", "NORMAL"}) {
        const std::string object =
            "tls-creds-x509,id=t,endpoint=server,verify-peer=yes,dir=" + pki() +
            ",priority=" + versions;
        start_upstream({"qemu-nbd", "-t", "-e", "4", "-f", "raw", "-b", "127.0.0.1", "-p", port_,
                        "--object", object, "--tls-creds", "t", path("disk.img")});
        expect_served(on_port(certificates()));
        upstream_.reset();
    }
}

TEST_F(UpstreamTls, QemuNbdWithAKeyIsServedWithBothVersions) {
    NEEDS("qemu-nbd");
    for (const std::string versions :
         {"NORMAL:-VERS-TLS1.3:+ECDHE-PSK:+DHE-PSK", "NORMAL:+ECDHE-PSK:+DHE-PSK"}) {
        const std::string object =
            "tls-creds-psk,id=t,endpoint=server,dir=" + pki() + ",priority=" + versions;
        start_upstream({"qemu-nbd", "-t", "-e", "4", "-f", "raw", "-b", "127.0.0.1", "-p", port_,
                        "--object", object, "--tls-creds", "t", path("disk.img")});
        expect_served(on_port(keys(), "alice@"));
        upstream_.reset();
    }
}

TEST_F(UpstreamTls, OurOwnServerIsServed) {
    start_ours();
    expect_served(on_socket(certificates()));
    expect_served(on_socket(keys(), "alice@"));
}

TEST_F(UpstreamTls, AServerThatIsNotTheWantedOneIsOneLine) {
    NEEDS("nbdkit");
    make_certificates(path("others"));
    make_key(path("others"), "mallory");
    start_nbdkit("--tls-certificates=" + pki());
    ASSERT_TRUE(eventually([&] {
        return run({"nbdinfo", "--size", on_port(certificates())}).status == 0;
    }));
    const auto expect = [&](const std::string& options, const std::string& why) {
        const std::string said = refusal(on_port(options));
        EXPECT_NE(said.find(why), std::string::npos) << said;
    };
    expect(certificates("others"), "certificate verify failed");
    expect("tls-verify-peer=true", "certificate verify failed");
    expect(certificates() + "&tls-hostname=example.org", "hostname mismatch");
    EXPECT_NE(refusal("nbds://mallory@localhost:" + port_ + "/?" + keys("others")), "");
    EXPECT_NE(refusal("nbd://localhost:" + port_ + "/").find("TLS"), std::string::npos);
    const std::string absent = on_port(certificates("absent"));
    EXPECT_NE(refused({"serve", absent, "--unix", path("us.sock")}, 2).find("ca-cert.pem"),
              std::string::npos);
}

TEST_F(UpstreamTls, AServerWithoutTlsIsOneLine) {
    const auto plain = serve_beside("memory:1M", "up.sock");
    const std::string said = refusal(on_socket(certificates()));
    EXPECT_NE(said.find("the server has no TLS"), std::string::npos) << said;
}

TEST_F(UpstreamTls, KilledUnderLoadItLosesNothing) {
    start_ours();
    serve("disk=" + on_socket(certificates()));
    Client client(uri());
    expect_no_loss(client, "abcd", [&] {
        kill_upstream();
        start_ours();
    });
}

// A connection is made again with the files of that time.
TEST_F(UpstreamTls, AServerThatComesBackWithAnotherAuthorityIsNotBelieved) {
    start_ours();
    serve("disk=" + on_socket(certificates()), {"--upstream-timeout", "1"});
    Client client(uri());
    ASSERT_EQ(client.try_read(0, 4096), 0);
    kill_upstream();
    std::filesystem::copy(pki(), path("trusted"));
    make_certificates(pki());
    std::filesystem::copy_file(path("trusted") + "/ca-cert.pem", pki() + "/ca-cert.pem",
                               std::filesystem::copy_options::overwrite_existing);
    start_ours();
    EXPECT_NE(client.try_read(0, 4096), 0);
    EXPECT_TRUE(eventually(
        [&] { return server_->output().find("certificate verify failed") != std::string::npos; }));
}

}  // namespace
}  // namespace blkscope::test
