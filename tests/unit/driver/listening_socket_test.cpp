// Several servers on the path of one Unix socket. Each call stands for a server.
#include "driver/nbd/server/listening_socket.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/descriptor.hpp"
#include "driver/nbd/server/asio_executor.hpp"
#include "unit/temporary_folder.hpp"

namespace blkscope::nbd {
namespace {

class UnixSockets : public ::testing::Test {
  protected:
    /// A socket at the path that does not listen yet.
    Descriptor bind_only() {
        Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
        EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
                  0);
        return socket;
    }
    /// The error of one more server at the path; 0 if it listens there.
    [[nodiscard]] int listen() const {
        try {
            return ::close(listening_unix_socket(path_).descriptor);
        } catch (const std::system_error& error) {
            return error.code().value();
        }
    }

    test::TemporaryFolder folder_;
    const std::string path_ = folder_ / "socket";
};

TEST_F(UnixSockets, OfKilledServersAreReplaced) {
    bind_only();
    EXPECT_EQ(listen(), 0);
}

// The other server has the folder's lock from its look at the path until it listens.
TEST_F(UnixSockets, OfAStartingServerAreNotTakenForStale) {
    Descriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_EQ(::flock(folder.get(), LOCK_EX), 0);
    const Descriptor other = bind_only();
    auto error = std::async(std::launch::async, [&] { return listen(); });
    EXPECT_EQ(error.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
    ASSERT_EQ(::listen(other.get(), 1), 0);
    folder = Descriptor();
    EXPECT_EQ(error.get(), EADDRINUSE);
}

// A script may have locked the folder for all of the server's time.
TEST_F(UnixSockets, AreMadeInAFolderThatAnotherProgramLocks) {
    const Descriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_EQ(::flock(folder.get(), LOCK_EX), 0);
    EXPECT_EQ(listen(), 0);
}

TEST_F(UnixSockets, GoToOneOfSeveralServersThatStartAtOneMoment) {
    constexpr int servers = 4;
    for (int round = 0; round < 200; ++round) {
        bind_only();  // stale
        std::atomic<int> listening = 0;
        std::barrier start(servers);
        std::vector<Descriptor> sockets(servers);
        std::vector<std::thread> threads;
        for (Descriptor& socket : sockets) {
            threads.emplace_back([&] {
                start.arrive_and_wait();
                try {
                    socket = Descriptor(listening_unix_socket(path_).descriptor);
                    ++listening;
                } catch (const std::system_error& error) {
                    EXPECT_EQ(error.code().value(), EADDRINUSE);
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
        ASSERT_EQ(listening.load(), 1) << round;
        std::filesystem::remove(path_);
    }
}

TEST_F(UnixSockets, AreRemovedByTheirOwnServerOnly) {
    boost::asio::io_context io;
    AsioExecutor executor(io);
    const auto first = executor.listen_unix(path_);
    std::filesystem::remove(path_);
    const auto second = executor.listen_unix(path_);
    first->close();
    EXPECT_TRUE(std::filesystem::exists(path_));
    EXPECT_EQ(listen(), EADDRINUSE);
    second->close();
    EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace blkscope::nbd
