// A client's view, through libnbd: data, flags, errors, durability commands, many connections.

#include <gtest/gtest.h>
#include <libnbd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "raw_client.hpp"
#include "served_device.hpp"

namespace blkscope::test {
namespace {

class Nbd : public ServedDevice {};

TEST_F(Nbd, WhatWasWrittenIsRead) {
    serve(make_image("disk.img", 8 * mib));
    Client client(uri());
    ASSERT_EQ(client.try_write(4096, 10000, 'a'), 0);
    EXPECT_EQ(client.read(4096, 10000), std::vector<char>(10000, 'a'));
    EXPECT_EQ(client.read(0, 4096), std::vector<char>(4096, '\0'));
    EXPECT_EQ(client.read(14096, 1), std::vector<char>(1, '\0'));
}

TEST_F(Nbd, TheExportAnswersToItsNameAndToTheEmptyOne) {
    serve(make_image("disk.img", mib));
    EXPECT_EQ(nbd_get_size(Client(uri("disk.img")).get()), static_cast<int64_t>(mib));
    EXPECT_EQ(nbd_get_size(Client(uri()).get()), static_cast<int64_t>(mib));
    EXPECT_THROW(Client(uri("other")), std::runtime_error);
}

TEST_F(Nbd, OffersWhatItDoesAndNothingElse) {
    serve("memory:1M");
    Client client(uri());
    nbd_handle* nbd = client.get();
    EXPECT_EQ(nbd_is_read_only(nbd), 0);
    EXPECT_EQ(nbd_can_flush(nbd), 1);
    EXPECT_EQ(nbd_can_fua(nbd), 1);
    EXPECT_EQ(nbd_can_trim(nbd), 1);
    EXPECT_EQ(nbd_can_multi_conn(nbd), 1);
    EXPECT_EQ(nbd_can_zero(nbd), 1);
    EXPECT_EQ(nbd_can_fast_zero(nbd), 1);
    EXPECT_EQ(nbd_can_cache(nbd), 1);
    EXPECT_EQ(nbd_can_df(nbd), 1);
    EXPECT_EQ(nbd_is_rotational(nbd), 0);
    EXPECT_EQ(nbd_can_meta_context(nbd, LIBNBD_CONTEXT_BASE_ALLOCATION), 1);
    EXPECT_EQ(nbd_get_block_size(nbd, LIBNBD_SIZE_MINIMUM), 1);
    EXPECT_EQ(nbd_get_block_size(nbd, LIBNBD_SIZE_PREFERRED), 4096);
    EXPECT_EQ(nbd_get_block_size(nbd, LIBNBD_SIZE_MAXIMUM), static_cast<int64_t>(32 * mib));
}

TEST_F(Nbd, EachWrongRequestGetsItsErrorAndTheConnectionGoesOn) {
    serve("memory:1M");
    Client client(uri());
    nbd_handle* nbd = client.get();
    EXPECT_EQ(client.try_read(mib, 512), EINVAL);
    EXPECT_EQ(client.try_read(mib - 1, 2), EINVAL);
    EXPECT_EQ(client.try_write(mib, 512), ENOSPC);
    EXPECT_EQ(client.try_write(mib - 256, 512), ENOSPC);
    EXPECT_EQ(client.try_read(~uint64_t{0} - 100, 4096), EINVAL);
    EXPECT_EQ(client.try_write(0, 512, 'x', 0x80), EINVAL);
    EXPECT_EQ(nbd_trim(nbd, 4096, mib, 0), -1);
    EXPECT_EQ(nbd_get_errno(), EINVAL);
    EXPECT_EQ(nbd_zero(nbd, 4096, mib, 0), -1);
    EXPECT_EQ(nbd_get_errno(), ENOSPC);
    EXPECT_EQ(nbd_zero(nbd, 4096, 0, LIBNBD_CMD_FLAG_DF), -1);
    EXPECT_EQ(nbd_get_errno(), EINVAL);
    EXPECT_EQ(nbd_cache(nbd, 4096, mib, 0), -1);
    EXPECT_EQ(nbd_get_errno(), EINVAL);
    EXPECT_EQ(nbd_cache(nbd, 0, 0, 0), -1);
    EXPECT_EQ(nbd_get_errno(), EINVAL);
    char byte = 0;
    EXPECT_EQ(nbd_pread(nbd, &byte, 1, 0, LIBNBD_CMD_FLAG_NO_HOLE), -1);
    EXPECT_EQ(nbd_get_errno(), EINVAL);
    EXPECT_EQ(nbd_pread(nbd, &byte, 1, 0, LIBNBD_CMD_FLAG_FUA), 0);
    EXPECT_EQ(client.try_read(0, 512), 0);
    EXPECT_EQ(client.try_write(0, 512), 0);
}

TEST_F(Nbd, AReadOnlyExportRefusesWritesAndServesReads) {
    serve(make_image("disk.img", mib), {"--read-only"});
    Client client(uri());
    EXPECT_EQ(nbd_is_read_only(client.get()), 1);
    EXPECT_EQ(client.try_write(0, 512), EPERM);
    EXPECT_EQ(nbd_trim(client.get(), 4096, 0, 0), -1);
    EXPECT_EQ(nbd_get_errno(), EPERM);
    EXPECT_EQ(nbd_zero(client.get(), 4096, 0, 0), -1);
    EXPECT_EQ(nbd_get_errno(), EPERM);
    EXPECT_EQ(nbd_cache(client.get(), 4096, 0, 0), 0);
    EXPECT_EQ(nbd_can_fua(client.get()), 0);
    EXPECT_EQ(nbd_can_trim(client.get()), 0);
    EXPECT_EQ(nbd_can_zero(client.get()), 0);
    EXPECT_EQ(client.try_read(0, 512), 0);
    EXPECT_EQ(nbd_flush(client.get(), 0), 0);
}

// libnbd gives a server up that answers a write whose data is still on its way.
TEST_F(Nbd, ALargeRefusedWriteIsAnsweredAfterItsData) {
    serve(make_image("disk.img", mib), {"--read-only"});
    Client client(uri());
    EXPECT_EQ(client.try_write(0, 32 * mib), EPERM);
    EXPECT_EQ(client.try_read(0, 512), 0);
}

TEST_F(Nbd, ServesTheLargestRequestOfTheProtocol) {
    serve("memory:128M");
    Client client(uri());
    const size_t bytes = 32 * mib;
    ASSERT_EQ(client.try_write(mib, bytes, 'L'), 0);
    EXPECT_EQ(client.read(mib, bytes), std::vector<char>(bytes, 'L'));
    EXPECT_EQ(client.try_write(0, bytes + 1), EINVAL);  // the client has asked for the limit
    EXPECT_EQ(client.try_read(0, bytes + 1), EINVAL);
    const kstat_io_t io = read_io();
    EXPECT_EQ(io.writes, 1u);
    EXPECT_EQ(io.nwritten, 32 * mib);
}

TEST_F(Nbd, TrimMakesAHoleInTheFile) {
    const std::string image = make_image("disk.img", 4 * mib);
    serve(image);
    Client client(uri());
    ASSERT_EQ(client.try_write(0, 2 * mib, 'x', LIBNBD_CMD_FLAG_FUA), 0);
    ASSERT_EQ(nbd_trim(client.get(), mib, 0, LIBNBD_CMD_FLAG_FUA), 0);
    EXPECT_EQ(client.read(0, mib), std::vector<char>(mib, '\0'));
    EXPECT_EQ(client.read(mib, mib), std::vector<char>(mib, 'x'));
    EXPECT_EQ(read_command_count("trim_requests"), 1u);
    EXPECT_EQ(read_command_count("trim_bytes"), mib);
}

TEST_F(Nbd, AnEmptyTrimSucceedsAsTheKernelNeedsIt) {
    serve("memory:1M");
    Client client(uri());
    EXPECT_EQ(nbd_trim(client.get(), 0, 0, 0), 0);
    EXPECT_EQ(client.try_read(0, 0), EINVAL);
}

TEST_F(Nbd, FuaAndFlushAreAnsweredAndCounted) {
    serve(make_image("disk.img", mib));
    Client client(uri());
    EXPECT_EQ(client.try_write(0, 4096, 'f', LIBNBD_CMD_FLAG_FUA), 0);
    EXPECT_EQ(nbd_flush(client.get(), 0), 0);
    EXPECT_EQ(read_command_count("write_requests"), 1u);
    EXPECT_EQ(read_command_count("flush_requests"), 1u);
}

TEST_F(Nbd, WhatOneConnectionWroteAnotherReads) {
    serve(make_image("disk.img", mib));
    Client one(uri());
    Client two(uri());
    ASSERT_EQ(one.try_write(0, 4096, '1'), 0);
    EXPECT_EQ(two.read(0, 4096), std::vector<char>(4096, '1'));
    EXPECT_EQ(read_command_count("connections"), 2u);
}

TEST_F(Nbd, ManyExportsAreServedUnderTheirNames) {
    serve("a=memory:1M", {"b=memory:2M"});
    EXPECT_EQ(nbd_get_size(Client(uri("a")).get()), static_cast<int64_t>(mib));
    EXPECT_EQ(nbd_get_size(Client(uri("b")).get()), static_cast<int64_t>(2 * mib));
    EXPECT_THROW(Client(uri("")), std::runtime_error);
    Client a(uri("a"));
    Client b(uri("b"));
    ASSERT_EQ(a.try_write(0, 512, 'a'), 0);
    ASSERT_EQ(b.try_write(0, 512, 'b'), 0);
    ASSERT_EQ(b.try_write(0, 512, 'b'), 0);
    EXPECT_EQ(read_io("nbd0").writes, 1u);
    EXPECT_EQ(read_io("nbd1").writes, 2u);
}

TEST_F(Nbd, ATruncatedFileIsAnIoErrorAndTheDeviceGoesOn) {
    const std::string image = make_image("disk.img", mib);
    serve(image);
    Client client(uri());
    ASSERT_EQ(client.try_write(0, 4096), 0);
    std::filesystem::resize_file(image, mib / 2);
    EXPECT_EQ(client.try_read(mib - 4096, 4096), EIO);
    EXPECT_EQ(client.try_read(0, 4096), 0);
    EXPECT_EQ(read_io().rcnt, 0u);
    EXPECT_EQ(read_command_count("read_errors"), 1u);
}

TEST_F(Nbd, DirectIoServesAlignedRequestsAndRefusesOthers) {
    serve(make_image("disk.img", mib), {"--direct"});
    Client client(uri());
    const int64_t block = nbd_get_block_size(client.get(), LIBNBD_SIZE_MINIMUM);
    EXPECT_GE(block, 512);
    ASSERT_EQ(client.try_write(8192, 8192, 'd'), 0);
    EXPECT_EQ(client.read(8192, 8192), std::vector<char>(8192, 'd'));
    EXPECT_EQ(client.try_read(1, 100), EINVAL);
    EXPECT_EQ(client.try_read(0, 8192), 0);
}

// A pipeline deeper than the device, the arena's small class and the connection's share.
TEST_F(Nbd, ADeepPipelineIsServedWhole) {
    serve("memory:16M", {"--queue-depth", "4"});
    Client client(uri());
    nbd_handle* nbd = client.get();
    constexpr int requests = 3000;
    std::vector<char> data(4096, 'p');
    int done = 0;
    const auto count = [](void* user, int* error) {
        EXPECT_EQ(*error, 0);
        ++*static_cast<int*>(user);
        return 1;
    };
    for (int i = 0; i < requests; ++i) {
        const nbd_completion_callback callback{
            .callback = count, .user_data = &done, .free = nullptr};
        const uint64_t at = static_cast<uint64_t>(i) * 4096;
        ASSERT_GE(nbd_aio_pwrite(nbd, data.data(), data.size(), at, callback, 0), 0);
    }
    while (done < requests) ASSERT_GE(nbd_poll(nbd, 10'000), 0);
    const kstat_io_t io = read_io();
    EXPECT_EQ(io.writes, static_cast<uint32_t>(requests));
    EXPECT_EQ(io.nwritten, requests * 4096u);
    EXPECT_GT(io.wlentime, 0);
    EXPECT_EQ(io.wcnt + io.rcnt, 0u);
}

TEST_F(Nbd, SigtermAnswersWhatWasAcceptedAndEndsWithZero) {
    serve(make_image("disk.img", mib));
    auto client = std::make_unique<Client>(uri());
    ASSERT_EQ(client->try_write(0, 4096), 0);
    EXPECT_EQ(stop_server(), 0) << server_->output();
    EXPECT_FALSE(std::filesystem::exists(socket_));
}

TEST_F(Nbd, AStartThatFailsSaysInOneLineWhatWhyAndWhatToDo) {
    const auto refused = [&](const std::vector<std::string>& options, const std::string& said) {
        std::vector<std::string> arguments{BLKSCOPE_BINARY, "serve"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        const CommandResult result = run(arguments);
        EXPECT_EQ(result.status, 1);
        EXPECT_EQ(result.output, "blkscope: " + said + "\n");
    };
    serve("memory:1M");
    refused({path("absent")},
            "open " + path("absent") + ": No such file or directory; see that the path is right");
    refused(
        {"memory:1M", "--unix", socket_},
        "listen on " + socket_ +
            ": Address already in use; stop the server that uses it, or choose another address");
    const std::string file = make_image("file", 1);
    setenv("KSTAT_DIR", file.c_str(), 1);
    refused({"memory:1M"},
            "opening the run directory " + file +
                ": Not a directory; set KSTAT_DIR to a directory that you may write");
}

// The replies are more than a socket with the default limit has room for. So the server goes on
// with the next reads while the client looks at these replies.
TEST_F(Nbd, RepliesLeaveBeforeAUnixClientTakesAnyOfThem) {
    constexpr int kernel_default = 212992;
    int limit = 0;
    std::ifstream("/proc/sys/net/core/wmem_max") >> limit;
    if (limit < kernel_default) GTEST_SKIP() << "SKIPPED: net.core.wmem_max has been lowered";
    serve("memory:1M");
    RawClient client(socket_, "");
    constexpr uint32_t each = 72 << 10;
    constexpr size_t all = 4 * (nbd::simple_reply_bytes + each);
    for (int i = 0; i < 4; ++i) client.request(0, 0, each);
    ASSERT_TRUE(client.send());
    EXPECT_TRUE(eventually([&] { return client.waiting() == all; })) << client.waiting();
    EXPECT_EQ(client.receive(all).size(), all);
}

TEST_F(Nbd, TcpServesTheSameDevice) {
    serve("memory:1M", {"--port", "0"});
    const CommandResult listed = run({BLKSCOPE_BINARY, "list"});
    EXPECT_EQ(listed.status, 0);
    EXPECT_NE(listed.output.find("nbd0"), std::string::npos) << listed.output;
}

}  // namespace
}  // namespace blkscope::test
