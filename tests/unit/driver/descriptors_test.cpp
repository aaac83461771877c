// Descriptors: the limit, the warning, and the spare one. Only child processes change limits.
#include "driver/nbd/server/descriptors.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "../temporary_folder.hpp"
#include "base/descriptor_limit.hpp"
#include "driver/nbd/server/asio_executor.hpp"
#include "driver/nbd/server/listener.hpp"

namespace blkscope::nbd {
namespace {

void limit_descriptors(rlim_t soft, rlim_t hard) {
    const rlimit limit{soft, hard};
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0) std::_Exit(99);
}

/// Opens all descriptors that the limit allows.
std::vector<int> use_up() {
    std::vector<int> all;
    for (int fd = open("/dev/null", O_RDONLY); fd >= 0; fd = open("/dev/null", O_RDONLY)) {
        all.push_back(fd);
    }
    return all;
}

TEST(Descriptors, TheSoftLimitRisesToTheHardOne) {
    EXPECT_EXIT(
        {
            limit_descriptors(64, 256);
            raise_descriptor_limit();
            std::_Exit(descriptor_limit() == 256 ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
}

TEST(Descriptors, CountsThoseThatAreOpen) {
    const size_t before = open_descriptors();
    const int fd = open("/dev/null", O_RDONLY);
    EXPECT_EQ(open_descriptors(), before + 1);
    close(fd);
    EXPECT_EQ(open_descriptors(), before);
}

TEST(Descriptors, WarnsOfAShortageAndSaysWhatIsNeeded) {
    EXPECT_EQ(descriptor_shortage(1024, 20, 256), "");
    EXPECT_EQ(descriptor_shortage(292, 20, 256), "");  // just enough
    EXPECT_EQ(descriptor_shortage(291, 20, 256),
              "--max-connections: 1 too many for 291 descriptors; raise the limit to "
              "292, as in ulimit -n 292 or LimitNOFILE=292");
}

TEST(Descriptors, TheSpareOneMakesRoomForOneOther) {
    EXPECT_EXIT(
        {
            limit_descriptors(64, 64);
            SpareDescriptor spare;
            const std::vector<int> all = use_up();
            const bool gave = spare.is_open() && spare.close();
            const int other = open("/dev/null", O_RDONLY);
            const int none = open("/dev/null", O_RDONLY);
            spare.restore();  // fails, since no descriptor is free
            const bool refused = !spare.is_open() && !spare.close();
            close(other);
            spare.restore();
            std::_Exit(gave && other >= 0 && none < 0 && refused && spare.is_open() ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
}

/// Counts the clients and closes them.
struct CountingHost final : Listener::Host {
    explicit CountingHost(boost::asio::io_context& its_io) : io(its_io) {}
    void admit(std::unique_ptr<StreamSocket> socket) override {
        sockets.push_back(std::move(socket));
    }
    void admit_in_need(std::unique_ptr<StreamSocket> socket, int error) override {
        turned_away += error == EMFILE && socket->peer().kind == Peer::Kind::process ? 1 : 0;
        if (turned_away == 3) io.stop();
    }

    boost::asio::io_context& io;
    std::vector<std::unique_ptr<StreamSocket>> sockets;
    int turned_away = 0;
};

int connect_to(const std::string& path) {
    const int client = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    return ::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0
               ? client
               : -1;
}

// Three clients are queued and no descriptor is free. Each client is accepted in turn.
int listen_without_descriptors(const std::string& path) {
    limit_descriptors(64, 64);
    boost::asio::io_context io;
    AsioExecutor executor(io);
    CountingHost host(io);
    Listener listener(executor, executor.listen_unix(path));
    int clients[3] = {connect_to(path), connect_to(path), connect_to(path)};
    const std::vector<int> all = use_up();
    listener.start(host);
    io.run_for(std::chrono::seconds(10));
    if (host.turned_away != 3 || !host.sockets.empty()) return 1;
    char byte = 0;
    for (const int client : clients) {
        if (::recv(client, &byte, 1, 0) != 0) return 2;  // each is closed
    }
    // Descriptors are free again, and new clients are accepted.
    for (const int fd : all) close(fd);
    const int late = connect_to(path);
    io.restart();
    while (host.sockets.empty() && io.run_one_for(std::chrono::seconds(10)) > 0) {
    }
    return late >= 0 && host.sockets.size() == 1 && host.turned_away == 3 ? 0 : 3;
}

TEST(Descriptors, AListenerWithoutAnyTurnsClientsAwayAtOnce) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "SKIPPED: the sanitizer needs a descriptor to look at an object";
#endif
    const test::TemporaryFolder folder;
    const std::string path = folder / "socket";
    EXPECT_EXIT(std::_Exit(listen_without_descriptors(path)), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace blkscope::nbd
