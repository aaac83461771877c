// The control socket without memory, and the command that asks it. No real server is needed.
#include "tools/blkscope/control_socket.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/kstat.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "base/descriptor.hpp"
#include "tools/blkscope/control_client.hpp"

namespace blkscope {
namespace {

// Makes each call at once, on the thread that posts it.
class CallingExecutor final : public nbd::Executor {
  public:
    void post(std::function<void()> call) override {
        if (fails_once.exchange(false)) throw std::bad_alloc();
        call();
    }
    Time now() const override { return Time::clock::now(); }
    std::unique_ptr<nbd::Timer> make_timer() override { return nullptr; }
    std::unique_ptr<nbd::StreamSocket> take_socket(int) override { return nullptr; }
    std::unique_ptr<nbd::Acceptor> listen_unix(const std::string&) override { return nullptr; }
    std::unique_ptr<nbd::Acceptor> listen_tcp(const std::string&, uint16_t) override {
        return nullptr;
    }
    std::unique_ptr<nbd::Acceptor> listen_on(int) override { return nullptr; }

    std::atomic<bool> fails_once{false};
};

class ControlSocketTest : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        char name[] = "/tmp/blkscope_test.XXXXXX";
        folder = mkdtemp(name);
        ::setenv("KSTAT_DIR", folder.c_str(), 1);
    }
    static void TearDownTestSuite() {
        ::unsetenv("KSTAT_DIR");
        std::filesystem::remove_all(folder);
    }

    // The answer to one line; empty if the connection is closed without one.
    static std::string ask(const std::string& line) {
        const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const std::string path = folder / control_socket_name(::getpid());
        std::memcpy(address.sun_path, path.c_str(), path.size());
        EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address),
                  0);
        const std::string sent = line + "\n";
        EXPECT_EQ(::send(socket.get(), sent.data(), sent.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(sent.size()));
        char answer[256];
        const ssize_t bytes = ::recv(socket.get(), answer, sizeof answer, 0);
        return {answer, static_cast<size_t>(std::max<ssize_t>(bytes, 0))};
    }

    static std::filesystem::path folder;
    CallingExecutor executor_;
};

std::filesystem::path ControlSocketTest::folder;

TEST_F(ControlSocketTest, GoesOnAfterATurnWithoutMemory) {
    const ControlSocket control(executor_,
                                [](const auto&, auto line) { return std::string(line); });
    EXPECT_EQ(ask("one"), "one\n");
    executor_.fails_once = true;
    EXPECT_EQ(ask("two"), "");
    EXPECT_EQ(ask("three"), "three\n");
}

TEST_F(ControlSocketTest, GoesOnAfterAnAnswerWithoutMemory) {
    const ControlSocket control(executor_, [](const auto&, auto line) {
        if (line == "two") throw std::bad_alloc();
        return std::string(line);
    });
    EXPECT_EQ(ask("one"), "one\n");
    EXPECT_EQ(ask("two"), "");
    EXPECT_EQ(ask("three"), "three\n");
}

TEST_F(ControlSocketTest, AMalformedAnswerIsNoBadInput) {
    std::atomic<const char*> answer = "nonsense";
    const ControlSocket control(executor_, [&](const auto&, auto) { return std::string(answer); });
    kstat_t* const ksp = kstat_create("nbd", 77, "nbd77,export", "misc", KSTAT_TYPE_NAMED, 1, 0);
    ASSERT_NE(ksp, nullptr);
    kstat_named_init(KSTAT_NAMED_PTR(ksp), "pid", KSTAT_DATA_INT32);
    KSTAT_NAMED_PTR(ksp)->value.i32 = ::getpid();
    kstat_install(ksp);
    const ControlRequest request{.command = ControlRequest::Command::clear_error,
                                 .device = "nbd77"};
    EXPECT_THROW(ask_server(request), std::runtime_error);
    answer = R"({"error":"no such rule","status":2})";
    EXPECT_THROW(ask_server(request), std::invalid_argument);
    answer = R"({"ok":true})";
    EXPECT_NO_THROW(ask_server(request));
    kstat_delete(ksp);
}

}  // namespace
}  // namespace blkscope
