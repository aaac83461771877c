#include "driver/attach/attach.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "../failure.hpp"
#include "../temporary_folder.hpp"

namespace blkscope {
namespace {

using Command = std::vector<std::string>;

nbd::Uri unix_uri() {
    return nbd::parse_uri("nbd+unix:///disk?socket=/run/s");
}

TEST(Attach, RunsNbdClientOnAUnixSocketWithATimeout) {
    AttachOptions options;
    options.device = "/dev/nbd3";
    EXPECT_EQ(
        attach_command(unix_uri(), options),
        (Command{"nbd-client", "-unix", "/run/s", "/dev/nbd3", "-name", "disk", "-timeout", "30"}));
}

TEST(Attach, RunsNbdClientOverTcpWithEveryOption) {
    AttachOptions options;
    options.device = "/dev/nbd0";
    options.connections = 4;
    options.block_bytes = 4096;
    options.timeout_seconds = 7;
    EXPECT_EQ(attach_command(nbd::parse_uri("nbd://[::1]:2000/"), options),
              (Command{"nbd-client", "::1", "2000", "/dev/nbd0", "-name", "", "-connections", "4",
                       "-block-size", "4096", "-timeout", "7"}));
}

// A folder that exists only during the test.
struct Folder {
    void make(const char* file) const { std::ofstream(path / file).flush(); }

    const test::TemporaryFolder path;
};

TEST(Attach, GivesNbdClientTheCertificatesOfTheFolder) {
    const Folder folder;
    AttachOptions options;
    options.device = "/dev/nbd0";
    options.timeout_seconds = 0;
    const std::string at = folder.path;
    const auto uri =
        nbd::parse_uri("nbds://10.0.0.1/disk?tls-certificates=" + at + "&tls-hostname=box");
    Command expected{"nbd-client",   "10.0.0.1",    "10809",
                     "/dev/nbd0",    "-name",       "disk",
                     "-enable-tls",  "-cacertfile", at + "/ca-cert.pem",
                     "-tlshostname", "box"};
    EXPECT_EQ(attach_command(uri, options), expected);
    folder.make("client-cert.pem");
    expected.insert(expected.end() - 2,
                    {"-certfile", at + "/client-cert.pem", "-keyfile", at + "/client-key.pem"});
    EXPECT_EQ(attach_command(uri, options), expected);
}

TEST(Attach, SaysWhatNbdClientNeedsForTls) {
    const Folder folder;
    AttachOptions options;
    options.device = "/dev/nbd0";
    const auto failure = [&](const std::string& uri) {
        return failure_of<std::runtime_error>([&] { attach(nbd::parse_uri(uri), options); });
    };
    EXPECT_EQ(failure("nbds://alice@localhost/"),
              "attach /dev/nbd0: nbd-client does not support shared keys; "
              "use certificates: nbds://HOST/NAME?tls-certificates=DIR");
    for (const std::string& query : {std::string(), "?tls-certificates=" + folder.path.string()}) {
        EXPECT_EQ(failure("nbds://localhost/" + query),
                  "attach /dev/nbd0: no ca-cert.pem to verify the server with; add "
                  "?tls-certificates=DIR to the URI, a directory that has one");
    }
}

TEST(Attach, SaysThatNbdClientDoesNotCheckRevocations) {
    const Folder folder;
    folder.make("ca-cert.pem");
    folder.make("ca-crl.pem");
    AttachOptions options;
    options.device = "/dev/nbd0";
    const auto uri = nbd::parse_uri("nbds://localhost/?tls-certificates=" + folder.path.string());
    EXPECT_EQ(failure_of<std::runtime_error>([&] { attach(uri, options); }),
              "attach /dev/nbd0: nbd-client does not check ca-crl.pem; serve the URI with "
              "--attach, which checks it, or use a directory without it");
}

TEST(Attach, ATimeoutOfZeroIsNone) {
    AttachOptions options;
    options.device = "/dev/nbd0";
    options.timeout_seconds = 0;
    EXPECT_EQ(attach_command(unix_uri(), options),
              (Command{"nbd-client", "-unix", "/run/s", "/dev/nbd0", "-name", "disk"}));
}

TEST(Attach, AReadOnlyDeviceIsReadOnlyToTheKernel) {
    AttachOptions options;
    options.device = "/dev/nbd0";
    options.timeout_seconds = 0;
    options.read_only = true;
    EXPECT_EQ(
        attach_command(unix_uri(), options),
        (Command{"nbd-client", "-unix", "/run/s", "/dev/nbd0", "-name", "disk", "-readonly"}));
}

TEST(Attach, KnowsTheDevicesOfTheNbdDriverByTheirNames) {
    EXPECT_EQ(nbd_index("/dev/nbd0"), 0);
    EXPECT_EQ(nbd_index("/dev/nbd15"), 15);
    for (const char* other : {"/dev/nbd", "/dev/nbd1p1", "/dev/nbd-1", "/dev/sda", "nbd0", ""}) {
        EXPECT_EQ(nbd_index(other), -1) << other;
    }
}

TEST(Attach, RefusesADeviceThatIsNone) {
    AttachOptions options;
    options.device = "/dev/sda";
    EXPECT_THROW(attach(unix_uri(), options), std::runtime_error);
    EXPECT_THROW(detach("/dev/sda"), std::runtime_error);
}

TEST(Attach, ADeviceThatDoesNotExistIsAttachedByNobody) {
    EXPECT_EQ(attached_by("/dev/nbd999999"), 0);
}

}  // namespace
}  // namespace blkscope
