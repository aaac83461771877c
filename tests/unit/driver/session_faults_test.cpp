// Fault rules that concern the connection: a disconnect, and requests that hang when their client or
// their export ends. A worker without a thread serves.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "blockdev/backing/backing.hpp"
#include "driver/nbd/transmission/worker.hpp"
#include "parser_driver.hpp"

namespace blkscope::nbd {
namespace {

constexpr uint64_t device_bytes = uint64_t{1} << 20;
constexpr size_t reply_bytes = 16;

class SessionFaults : public ::testing::Test {
  protected:
    void SetUp() override {
        char folder[] = "/tmp/session_faults.XXXXXX";
        ASSERT_NE(mkdtemp(folder), nullptr);
        folder_ = folder;
        setenv("KSTAT_DIR", folder, 1);
        worker_.when_connection_ended([this] { ++closed_; });
        worker_.begin();
    }
    void TearDown() override {
        if (client_ >= 0) close(client_);
        if (export_) worker_.close_export(std::move(export_));
        worker_.stop();
        turn_until([&] { return worker_.finished(); });
        std::filesystem::remove_all(folder_);
    }

    void serve(const std::string& rule, uint32_t depth) {
        ExportOptions options{.name = "memory",
                              .description = {},
                              .backing = open_backing("memory:1M", {}),
                              .instance = kstat::claim_instance("nbd"),
                              .queue_depth = depth};
        options.behaviour.faults.push_back(model::FaultRule::parse(rule, device_bytes, {}));
        export_ = worker_.make_export(std::move(options));
        std::array<int, 2> sockets{};
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);
        client_ = sockets[0];
        worker_.hand_over(*export_, {}, sockets[1], nullptr);
    }
    void send_reads(int count) {
        std::string stream;
        for (int i = 0; i < count; ++i) {
            testing::append_request(stream, ReplyForm::simple,
                                    {.type = Command::read, .length = 512});
        }
        ASSERT_EQ(send(client_, stream.data(), stream.size(), 0),
                  static_cast<ssize_t>(stream.size()));
    }
    template <class Done>
    void turn_until(Done done) {
        for (int turns = 0; !done(); ++turns) {
            ASSERT_LT(turns, 100);
            worker_.wait();
            worker_.turn();
        }
    }
    void close_client() {
        close(client_);
        client_ = -1;
    }
    [[nodiscard]] uint32_t running() const { return export_->device.io().rcnt; }

    std::string folder_;
    Worker worker_{false};
    std::unique_ptr<Export> export_;
    int client_ = -1;
    unsigned closed_ = 0;
};

TEST_F(SessionFaults, ADisconnectClosesTheConnectionInsteadOfAnAnswer) {
    serve("read:disconnect;after=1", 8);
    send_reads(1);
    std::array<char, 1024> reply{};
    turn_until([&] { return recv(client_, reply.data(), 1, MSG_PEEK | MSG_DONTWAIT) == 1; });
    EXPECT_EQ(recv(client_, reply.data(), reply.size(), 0), ssize_t{reply_bytes + 512});
    send_reads(1);
    turn_until([&] { return closed_ == 1; });
    EXPECT_EQ(recv(client_, reply.data(), reply.size(), 0), 0);
}

TEST_F(SessionFaults, HungRequestsEndWithTheirClient) {
    serve("read:hang", 1);
    send_reads(3);
    turn_until([&] { return running() == 1; });
    close_client();
    turn_until([&] { return closed_ == 1; });
    EXPECT_EQ(running(), 0u);
    EXPECT_EQ(export_->device.io().wcnt, 0u);
}

TEST_F(SessionFaults, HungRequestsEndWithTheirExport) {
    serve("all:hang", 8);
    send_reads(2);
    turn_until([&] { return running() == 2; });
    worker_.close_export(std::move(export_));
    turn_until([&] { return closed_ == 1; });
    std::array<unsigned char, 1024> replies{};
    ASSERT_EQ(recv(client_, replies.data(), replies.size(), 0), ssize_t{2 * reply_bytes});
    EXPECT_EQ(replies[7], ESHUTDOWN);
    EXPECT_EQ(replies[reply_bytes + 7], ESHUTDOWN);
    EXPECT_TRUE(worker_.all_flushed());
}

}  // namespace
}  // namespace blkscope::nbd
