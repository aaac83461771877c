// Clients in common use, all of GnuTLS, against our server of OpenSSL. Some are accepted, and the
// others get the right error.

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "driver/attach/attach.hpp"
#include "driver/nbd/uri.hpp"
#include "tls_served_device.hpp"

namespace blkscope::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* size_text = "16777216\n";  // of memory:16M

class TlsClients : public TlsServedDevice {
  protected:
    std::string make_random_file(const std::string& name, size_t bytes) {
        std::mt19937_64 random(20261121);
        std::string data(bytes, '\0');
        for (char& c : data) c = static_cast<char>(random());
        std::ofstream(path(name), std::ios::binary) << data;
        return path(name);
    }

    void expect_same_files(const std::string& one, const std::string& other) {
        succeed({"cmp", one, other});
    }

    /// The client fails, and says so with these words.
    void expect_refused(const std::vector<std::string>& command, const std::string& words) {
        const CommandResult result = run(command);
        EXPECT_NE(result.status, 0);
        EXPECT_NE(result.status, 124) << "it hung";
        EXPECT_NE(result.output.find(words), std::string::npos) << result.output;
    }

    std::vector<std::string> qemu_img(const std::string& credentials, const std::string& priority) {
        return {"qemu-img",     "info",
                "--object",     credentials + ",id=t0,endpoint=client,priority=" + priority,
                "--image-opts", "driver=nbd,host=localhost,port=" + port() + ",tls-creds=t0"};
    }
};

// ---- Revoked ----

TEST_F(TlsClients, ARevokedClientIsRefusedFromTheReloadOn) {
    NEEDS("nbdinfo");
    serve_tls("require", {"--tls-verify-peer"});
    Client before(x509_uri());
    EXPECT_EQ(succeed({"nbdinfo", "--size", x509_uri()}), size_text);
    std::ofstream(pki_ + "/ca-crl.pem") << make_crl(pki_, {pki_ + "/client-cert.pem"});
    server_->signal(SIGHUP);
    ASSERT_TRUE(said("reloaded"));
    EXPECT_NE(run({"nbdinfo", "--size", x509_uri()}).status, 0);
    EXPECT_TRUE(said("certificate verify failed (certificate revoked)"));
    EXPECT_EQ(succeed({"nbdinfo", "--size", psk_uri()}), size_text) << "a key is not revoked";
    EXPECT_EQ(before.try_read(0, 4096), 0) << "a connection that exists stays";

    std::ofstream(pki_ + "/ca-crl.pem", std::ios::trunc) << "damaged";
    server_->signal(SIGHUP);
    ASSERT_TRUE(said("no list of revoked certificates"));
    EXPECT_NE(run({"nbdinfo", "--size", x509_uri()}).status, 0) << "everything stays as it was";
    std::ofstream(pki_ + "/ca-crl.pem", std::ios::trunc) << make_crl(pki_, {});
    server_->signal(SIGHUP);
    EXPECT_TRUE(eventually([&] { return run({"nbdinfo", "--size", x509_uri()}).status == 0; }));
}

// Certtool's own authority and lists. As in the examples of qemu, the authority has no key usage for lists.
TEST_F(TlsClients, ListsOfCerttoolRevoke) {
    NEEDS("nbdinfo");
    NEEDS("certtool");
    const std::string signer = pki_ + "/signer-key.pem";
    const std::string authority = pki_ + "/ca-cert.pem";
    const auto certtool = [&](const std::string& text, std::vector<std::string> command) {
        std::ofstream(path("template")) << text;
        command.insert(command.begin(), {"certtool", "--template", path("template")});
        succeed(command);
    };
    const auto sign = [&](const std::string& text, std::vector<std::string> command) {
        command.insert(command.end(),
                       {"--load-ca-certificate", authority, "--load-ca-privkey", signer});
        certtool(text, std::move(command));
    };
    certtool("cn=authority\nca\ncert_signing_key\n",
             {"-s", "--load-privkey", signer, "--outfile", authority});
    sign(
        "cn=server\nserial=6\ntls_www_server\ndns_name=localhost\n",
        {"-c", "--load-privkey", pki_ + "/server-key.pem", "--outfile", pki_ + "/server-cert.pem"});
    sign("cn=client\nserial=7\ntls_www_client\n", {"-c", "--load-privkey", pki_ + "/client-key.pem",
                                                   "--outfile", pki_ + "/client-cert.pem"});
    serve_tls("require", {"--tls-verify-peer"});
    EXPECT_EQ(succeed({"nbdinfo", "--size", x509_uri()}), size_text);
    sign("crl_next_update=9\ncrl_number=1\n",
         {"--generate-crl", "--load-certificate", pki_ + "/client-cert.pem", "--outfile",
          pki_ + "/ca-crl.pem"});
    server_->signal(SIGHUP);
    ASSERT_TRUE(said("reloaded"));
    EXPECT_NE(run({"nbdinfo", "--size", x509_uri()}).status, 0);
    EXPECT_TRUE(said("certificate verify failed (certificate revoked)"));
}

// ---- Let in ----

TEST_F(TlsClients, NbdinfoComesInByCertificateAndByKeyOverBothKindsOfSocket) {
    NEEDS("nbdinfo");
    serve_tls("require", {"--tls-verify-peer"});
    for (const std::string& uri : {x509_uri(), psk_uri(), x509_unix_uri(), psk_unix_uri()}) {
        EXPECT_EQ(succeed({"nbdinfo", "--size", uri}), size_text) << uri;
    }
    EXPECT_NE(succeed({"nbdinfo", psk_uri()}).find("with TLS"), std::string::npos);
    EXPECT_NE(succeed({"nbdinfo", "--list", psk_uri()}).find("export=\"memory\""),
              std::string::npos);
}

TEST_F(TlsClients, TheUrisThatAServerPrintsSayWhatAClientMust) {
    serve_tls("require");
    EXPECT_NE(server_->output().find("nbd0 nbds+unix:///memory?socket="), std::string::npos);
    EXPECT_NE(server_->output().find("nbd0 nbds://127.0.0.1:"), std::string::npos);
    server_.reset();
    serve_tls("on");
    EXPECT_NE(server_->output().find("nbd0 nbd+unix:///memory?socket="), std::string::npos);
}

TEST_F(TlsClients, WithTlsOnBothComeInAndBothSeeTheSameData) {
    serve_tls("on");
    Client plain(uri());
    Client encrypted(psk_uri());
    EXPECT_EQ(nbd_get_tls_negotiated(plain.get()), 0);
    EXPECT_EQ(nbd_get_tls_negotiated(encrypted.get()), 1);
    ASSERT_EQ(encrypted.try_write(4096, 4096, 'e'), 0);
    EXPECT_EQ(plain.read(4096, 4096), std::vector<char>(4096, 'e'));
    ASSERT_EQ(plain.try_write(4096, 4096, 'p'), 0);
    EXPECT_EQ(encrypted.read(4096, 4096), std::vector<char>(4096, 'p'));
}

TEST_F(TlsClients, RequestsOfEverySizeComeBackAsTheyWere) {
    serve_tls("require", {}, "memory:64M");
    Client client(psk_uri());
    std::mt19937 random(20261121);
    for (const size_t bytes : {1ul, 512ul, 4096ul, 16367ul, 16368ul, 16384ul, 65536ul, 131073ul,
                               mib, 3 * mib + 17, 32 * mib}) {
        std::vector<char> data(bytes);
        for (char& c : data) c = static_cast<char>(random());
        ASSERT_EQ(nbd_pwrite(client.get(), data.data(), bytes, 0, 0), 0) << nbd_get_error();
        EXPECT_TRUE(client.read(0, bytes) == data) << bytes;
    }
    EXPECT_EQ(nbd_flush(client.get(), 0), 0);
    EXPECT_EQ(client.try_read(64 * mib, 512), EINVAL);
    EXPECT_EQ(client.try_write(64 * mib, 512), ENOSPC);
    EXPECT_EQ(client.try_read(0, 512), 0);
    EXPECT_EQ(read_io().rcnt, 0u);
}

TEST_F(TlsClients, NbdcopyCopiesThereAndBackOverTwoConnectionsInBothVersions) {
    NEEDS("nbdcopy");
    serve_tls("require", {"--tls-verify-peer"});
    const std::string in = make_random_file("in.img", 16 * mib);
    // The version that GnuTLS shall not speak, so that the other one is left.
    for (const std::vector<const char*>& disabled :
         {std::vector{"tls1.3"}, std::vector{"tls1.2", "tls1.1", "tls1.0"}}) {
        std::ofstream priority(path("priority"));
        priority << "[overrides]\n";
        for (const char* version : disabled) priority << "disabled-version = " << version << "\n";
        priority.close();
        const std::string environment = "GNUTLS_SYSTEM_PRIORITY_FILE=" + path("priority");
        for (const std::string& uri : {x509_uri(), psk_uri()}) {
            fs::remove(path("out.img"));
            succeed({"env", environment, "nbdcopy", "--connections=2", in, uri, "--flush"});
            succeed({"env", environment, "nbdcopy", "--connections=2", uri, path("out.img")});
            expect_same_files(in, path("out.img"));
        }
    }
    EXPECT_EQ(read_io().rcnt, 0u);
}

TEST_F(TlsClients, QemuComesInByCertificateAndByKeyInBothVersions) {
    NEEDS("qemu-img");
    serve_tls("require", {"--tls-verify-peer"});
    for (const std::string version : {"1.2", "1.3"}) {
        const std::string only = "NORMAL:-VERS-ALL:+VERS-TLS" + version;
        succeed(qemu_img("tls-creds-x509,dir=" + pki_, only));
        succeed(
            qemu_img("tls-creds-psk,username=alice,dir=" + pki_, only + ":+ECDHE-PSK:+DHE-PSK"));
    }
    expect_refused(qemu_img("tls-creds-x509,dir=" + pki_, "NORMAL:-VERS-ALL:+VERS-TLS1.1"),
                   "TLS handshake failed");
}

TEST_F(TlsClients, QemuConvertsAnImageThatReadsBackTheSame) {
    NEEDS("qemu-img");
    serve_tls("require");
    const std::string in = make_random_file("in.img", 16 * mib);
    const std::string object = "tls-creds-psk,id=t0,endpoint=client,username=alice,dir=" + pki_;
    const std::string target =
        "driver=raw,file.driver=nbd,file.path=" + socket_ + ",file.tls-creds=t0";
    succeed({"qemu-img", "convert", "-n", "-W", "-m", "8", "--object", object, "-f", "raw",
             "--target-image-opts", in, target});
    succeed({"nbdcopy", psk_unix_uri(), path("out.img")});
    expect_same_files(in, path("out.img"));
}

TEST_F(TlsClients, NbdshWritesFlushesTrimsAndReads) {
    NEEDS("nbdsh");
    serve_tls("require");
    const std::string program =
        "import nbd\n"
        "h = nbd.NBD()\n"
        "h.set_uri_allow_local_file(True)\n"
        "h.connect_uri('" +
        psk_uri() +
        "')\n"
        "assert h.get_tls_negotiated()\n"
        "h.pwrite(b'x' * 4096, 8192, nbd.CMD_FLAG_FUA); h.flush(); h.trim(4096, 0)\n"
        "assert h.pread(4096, 8192) == b'x' * 4096\n"
        "h.shutdown()\n"
        "print('done')\n";
    EXPECT_EQ(succeed({"/usr/bin/python3", "-c", program}), "done\n");
    // DISC is the end, and nothing of it is worth a line.
    EXPECT_EQ(server_->output().find("connection closed"), std::string::npos);
}

// fio cannot be told of a folder; libnbd looks where a user who is not root has its certificates.
TEST_F(TlsClients, FioVerifiesWhatItWroteWithManyRequestsInFlight) {
    NEEDS("fio");
    NEEDS("setpriv");
    serve_tls("require", {"--tls-verify-peer"});
    fs::create_directories(path(".pki"));
    fs::copy(pki_, path(".pki/libnbd"));
    for (const char* open : {"", ".pki", ".pki/libnbd", ".pki/libnbd/client-key.pem"}) {
        fs::permissions(path(open), fs::perms::others_read | fs::perms::others_exec,
                        fs::perm_options::add);
    }
    fs::create_directories(path("work"));
    fs::permissions(path("work"), fs::perms::all);
    std::vector<std::string> command{"env", "HOME=" + path(""), "fio"};
    if (geteuid() == 0) {
        command.insert(command.begin(),
                       {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"});
    }
    command.insert(command.end(),
                   {"--name=v", "--ioengine=nbd", "--uri=nbds://" + tcp_address() + "/",
                    "--rw=randrw", "--bsrange=512-128k", "--iodepth=32", "--size=16M",
                    "--verify=crc32c", "--do_verify=1", "--aux-path=" + path("work")});
    const std::string said = succeed(command);
    EXPECT_NE(said.find("err= 0"), std::string::npos) << said;
    EXPECT_GT(read_io().reads, 100u);
}

// The way of `blkscope attach`, as far as it goes without the kernel's driver.
TEST_F(TlsClients, NbdClientNegotiatesWithTheCommandThatAttachingRuns) {
    NEEDS("nbd-client");
    if (fs::exists("/sys/module/nbd")) GTEST_SKIP() << "SKIPPED: it would attach a device";
    serve_tls("require", {"--tls-verify-peer"});
    AttachOptions options;
    options.device = "/dev/nbd0";
    const std::string tcp = "nbds://127.0.0.1:" + port() + "/memory?tls-certificates=" + pki_ +
                            "&tls-hostname=localhost";
    const std::string local = x509_unix_uri() + "&tls-hostname=localhost";
    for (const std::string& uri : {tcp, local}) {
        const CommandResult result = run(attach_command(nbd::parse_uri(uri), options));
        EXPECT_NE(result.output.find("size = 16MB"), std::string::npos) << result.output;
    }
}

// ---- Kept out ----

TEST_F(TlsClients, AClientWithoutTlsIsToldThatTheServerRequiresIt) {
    NEEDS("nbdinfo");
    serve_tls("require");
    expect_refused({"nbdinfo", "--size", "nbd://" + tcp_address() + "/"}, "server requires TLS");
    expect_refused({"nbdinfo", "--size", uri()}, "server requires TLS");
}

TEST_F(TlsClients, AClientThatInsistsOnTlsIsToldThatTheServerHasNone) {
    NEEDS("nbdinfo");
    serve_tls("off");
    expect_refused({"nbdinfo", "--size", x509_uri()}, "server refused TLS");
    EXPECT_EQ(succeed({"nbdinfo", "--size", uri()}), size_text);
}

TEST_F(TlsClients, AClientOfAnotherAuthorityIsRefusedAndTheLogSaysWhy) {
    NEEDS("nbdinfo");
    serve_tls("require", {"--tls-verify-peer"});
    const std::string strangers = path("strangers");
    make_certificates(strangers);
    // The client does not trust the server's certificate.
    expect_refused({"nbdinfo", "--size", x509_uri(strangers)}, "certificate verification");
    // The client trusts the server, and the server does not trust the client's certificate.
    fs::copy_file(pki_ + "/ca-cert.pem", strangers + "/ca-cert.pem",
                  fs::copy_options::overwrite_existing);
    expect_refused({"nbdinfo", "--size", x509_uri(strangers)}, "TLS fatal alert");
    EXPECT_TRUE(said("TLS handshake failed: certificate verify failed"));
    EXPECT_TRUE(said("blkscope: 127.0.0.1 port "));
    EXPECT_EQ(succeed({"nbdinfo", "--size", x509_uri()}), size_text);
}

TEST_F(TlsClients, AClientWithAnUnknownKeyIsNamedInTheLogWithItsKeysName) {
    NEEDS("nbdinfo");
    serve_tls("require");
    make_key(path("strangers"), "mallory");
    const std::string uri =
        "nbds://mallory@" + tcp_address() + "/?tls-psk-file=" + path("strangers") + "/keys.psk";
    EXPECT_NE(run({"nbdinfo", "--size", uri}).status, 0);
    EXPECT_TRUE(said(": TLS handshake with an unknown key, \"mallory\"\n"));
    EXPECT_TRUE(said("blkscope: 127.0.0.1 port "));
}

TEST_F(TlsClients, AnExpiredCertificateIsWarnedOfAtTheStart) {
    make_certificates(pki_, {.from_seconds = -7200, .to_seconds = -3600});
    serve_tls("require");
    EXPECT_TRUE(said(pki_ + "/server-cert.pem: the certificate expired on 20"));
}

TEST_F(TlsClients, AClientWithoutACertificateIsRefusedOnlyWhereItIsVerified) {
    NEEDS("nbdinfo");
    const std::string anonymous = path("anonymous");
    fs::create_directories(anonymous);
    fs::copy_file(pki_ + "/ca-cert.pem", anonymous + "/ca-cert.pem");
    serve_tls("require", {"--tls-verify-peer"});
    expect_refused({"nbdinfo", "--size", x509_uri(anonymous)}, "TLS fatal alert");
    EXPECT_TRUE(said("peer did not return a certificate"));
    server_.reset();
    serve_tls("require");
    EXPECT_EQ(succeed({"nbdinfo", "--size", x509_uri(anonymous)}), size_text);
}

TEST_F(TlsClients, AClientWithAnotherKeyIsRefused) {
    NEEDS("nbdinfo");
    serve_tls("require", {"--tls-verify-peer"});
    const std::string uri_of_others = psk_uri();
    make_key(path("others"), "mallory");
    expect_refused(
        {"nbdinfo", "--size",
         "nbds://mallory@" + tcp_address() + "/?tls-psk-file=" + path("others") + "/keys.psk"},
        "gnutls_handshake");
    std::ofstream(path("others") + "/keys.psk") << "alice:" << std::string(64, '0') << "\n";
    expect_refused(
        {"nbdinfo", "--size",
         "nbds://alice@" + tcp_address() + "/?tls-psk-file=" + path("others") + "/keys.psk"},
        "gnutls_handshake");
}

// ---- The server's own ----

TEST_F(TlsClients, KeysOfPsktoolAreUnderstood) {
    NEEDS("psktool");
    NEEDS("nbdinfo");
    fs::remove(pki_ + "/keys.psk");
    succeed({"psktool", "-u", "alice", "-p", pki_ + "/keys.psk"});
    serve_tls("require");
    EXPECT_EQ(succeed({"nbdinfo", "--size", psk_uri()}), size_text);
}

TEST_F(TlsClients, CertificatesOfCerttoolAreUnderstood) {
    NEEDS("certtool");
    NEEDS("nbdinfo");
    const auto file = [&](const char* name) { return pki_ + "/" + name; };
    std::ofstream(path("ca.tmpl")) << "cn=authority\nca\ncert_signing_key\n";
    std::ofstream(path("server.tmpl"))
        << "cn=localhost\ndns_name=localhost\ntls_www_server\nencryption_key\nsigning_key\n";
    succeed({"certtool", "--generate-privkey", "--ecc", "--outfile", path("ca-key.pem")});
    succeed({"certtool", "--generate-self-signed", "--load-privkey", path("ca-key.pem"),
             "--template", path("ca.tmpl"), "--outfile", file("ca-cert.pem")});
    succeed({"certtool", "--generate-privkey", "--key-type=rsa", "--sec-param=medium", "--outfile",
             file("server-key.pem")});
    succeed({"certtool", "--generate-certificate", "--load-ca-certificate", file("ca-cert.pem"),
             "--load-ca-privkey", path("ca-key.pem"), "--load-privkey", file("server-key.pem"),
             "--template", path("server.tmpl"), "--outfile", file("server-cert.pem")});
    serve_tls("require");
    EXPECT_EQ(succeed({"nbdinfo", "--size", x509_uri()}), size_text);
}

TEST_F(TlsClients, WrongCredentialsAreOneLineAndExitStatus2) {
    fs::remove(pki_ + "/server-key.pem");
    const auto serve_with = [&](const std::vector<std::string>& options) {
        std::vector<std::string> command{BLKSCOPE_BINARY, "serve", "memory:1M", "--unix",
                                         path("never")};
        command.insert(command.end(), options.begin(), options.end());
        return run(command);
    };
    const CommandResult missing_key = serve_with({"--tls", "require", "--tls-certs", pki_});
    EXPECT_EQ(missing_key.status, 2);
    EXPECT_EQ(missing_key.output, "blkscope: " + pki_ +
                                      "/server-key.pem: No such file or directory; "
                                      "make it with certtool or openssl\n");
    EXPECT_EQ(serve_with({"--tls", "require"}).status, 2);
    EXPECT_EQ(serve_with({"--tls-certs", pki_}).status, 2);
    EXPECT_EQ(serve_with({"--tls", "sometimes"}).status, 2);
    const CommandResult attached =
        serve_with({"--tls", "require", "--tls-psk", pki_ + "/keys.psk", "--attach", "/dev/nbd0"});
    EXPECT_EQ(attached.status, 2);
    EXPECT_EQ(attached.output.find('\n'), attached.output.size() - 1) << attached.output;
    EXPECT_FALSE(fs::exists(path("never")));
}

// The name comes from the control socket, and no kstat has it.
TEST_F(TlsClients, AreListedByTheirNamesWhichNoKstatShows) {
    serve_tls("require");
    Client alice(psk_uri());
    EXPECT_EQ(alice.try_read(0, 512), 0);
    const std::string table = succeed({BLKSCOPE_BINARY, "clients", "--interval", "0"});
    EXPECT_NE(table.find("  alice, 127.0.0.1\n"), std::string::npos) << table;
    EXPECT_EQ(succeed({KSTAT_BINARY, "-p", "-c", "client"}).find("alice"), std::string::npos);
}

TEST_F(TlsClients, TheServerEndsInOrderWithClientsConnected) {
    serve_tls("require");
    Client idle(psk_uri());
    Client served(x509_uri());
    EXPECT_EQ(served.try_read(0, mib), 0);
    EXPECT_EQ(stop_server(), 0);
}

}  // namespace
}  // namespace blkscope::test
