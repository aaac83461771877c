// Extended headers, spoken byte for byte: no installed client supports them yet.

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "driver/nbd/protocol.hpp"
#include "raw_client.hpp"
#include "served_device.hpp"

namespace blkscope::test {
namespace {

using nbd::Chunk;
using nbd::Command;

constexpr uint16_t done = nbd::chunk_flag::done;
constexpr uint16_t with_payload = nbd::command_flag::payload_len;

class Extended : public ServedDevice {
  protected:
    /// One request, and the chunk that is all of its answer.
    RawClient::ExtendedChunk ask(RawClient& client, Command type, uint64_t offset, uint64_t length,
                                 uint16_t flags = 0, const std::string& payload = "") {
        client.extended_request(type, offset, length, flags, ++cookie_);
        client.text(payload);
        EXPECT_TRUE(client.send());
        const auto chunk = client.extended_chunk();
        EXPECT_EQ(chunk.flags, done);
        EXPECT_EQ(chunk.cookie, cookie_);
        EXPECT_EQ(chunk.offset, offset);
        return chunk;
    }

    void expect_error(const RawClient::ExtendedChunk& chunk, uint32_t error) {
        ASSERT_EQ(chunk.type, Chunk::error);
        EXPECT_EQ(chunk.at<uint32_t>(0), error);
        EXPECT_EQ(chunk.payload.size(), 6u + chunk.at<uint16_t>(4));
    }

  private:
    uint64_t cookie_ = 0x1122334455667788;
};

TEST_F(Extended, EveryCommandIsAnsweredByAnExtendedChunk) {
    serve(make_image("disk.img", 8 * mib));
    RawClient client(socket_);
    client.enter_extended(true);
    const auto succeeds = [&](Command type, uint64_t offset, uint64_t length, uint16_t flags,
                              const std::string& payload = "") {
        const auto chunk = ask(client, type, offset, length, flags, payload);
        EXPECT_EQ(chunk.type, Chunk::none);
        EXPECT_EQ(chunk.payload, "");
    };
    const std::string data(8192, 'e');
    succeeds(Command::write, 4096, 8192, with_payload, data);
    succeeds(Command::write, 65536, 8192, with_payload | nbd::command_flag::fua, data);
    succeeds(Command::flush, 0, 0, 0);
    succeeds(Command::trim, 65536, 4096, nbd::command_flag::fua);
    succeeds(Command::write_zeroes, 69632, 4096, nbd::command_flag::no_hole);
    succeeds(Command::cache, 0, 8 * mib, 0);
    const auto read = ask(client, Command::read, 4096, 8192);
    EXPECT_EQ(read.type, Chunk::offset_data);
    EXPECT_EQ(read.at<uint64_t>(0), 4096u);
    EXPECT_EQ(read.payload.substr(8), data);
    const auto hole = ask(client, Command::read, 4 * mib, mib);
    EXPECT_EQ(hole.type, Chunk::offset_hole);
    EXPECT_EQ(hole.at<uint64_t>(0), 4 * mib);
    EXPECT_EQ(hole.at<uint32_t>(8), mib);
    const auto whole = ask(client, Command::read, 4 * mib, mib, nbd::command_flag::df);
    EXPECT_EQ(whole.type, Chunk::offset_data);
    EXPECT_EQ(whole.payload.substr(8), std::string(mib, '\0'));
}

TEST_F(Extended, LengthsHave64Bits) {
    serve("memory:64G");
    RawClient client(socket_);
    client.enter_extended(true);
    const std::string block(4096, 'b');
    EXPECT_EQ(ask(client, Command::write, 20 * gib, 4096, with_payload, block).type, Chunk::none);
    const auto status = ask(client, Command::block_status, 0, 64 * gib);
    ASSERT_EQ(status.type, Chunk::block_status_ext);
    EXPECT_EQ(status.at<uint32_t>(0), nbd::base_allocation_id);
    ASSERT_EQ(status.at<uint32_t>(4), 3u);
    ASSERT_EQ(status.payload.size(), 8u + 3 * 16);
    const uint64_t lengths[] = {20 * gib, 4096, 44 * gib - 4096};
    const uint64_t flags[] = {3, 0, 3};
    for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(status.at<uint64_t>(8 + 16 * i), lengths[i]);
        EXPECT_EQ(status.at<uint64_t>(16 + 16 * i), flags[i]);
    }
    EXPECT_EQ(ask(client, Command::write_zeroes, 0, 64 * gib).type, Chunk::none);
    EXPECT_EQ(ask(client, Command::trim, 0, 64 * gib).type, Chunk::none);
    EXPECT_EQ(ask(client, Command::cache, 0, 64 * gib).type, Chunk::none);
    const auto empty = ask(client, Command::block_status, 0, 64 * gib, nbd::command_flag::req_one);
    ASSERT_EQ(empty.at<uint32_t>(4), 1u);
    EXPECT_EQ(empty.at<uint64_t>(8), 64 * gib);
    EXPECT_EQ(read_command_count("trim_bytes"), 64 * gib);
}

TEST_F(Extended, ABlockStatusMaySelectItsContextsByAPayload) {
    serve("memory:1M");
    RawClient client(socket_);
    client.enter_extended(true);
    const auto payload = [](uint64_t length, const std::vector<uint32_t>& ids) {
        std::string bytes;
        RawClient::append(bytes, length);
        for (const uint32_t id : ids) RawClient::append(bytes, id);
        return bytes;
    };
    const auto status = [&](uint64_t offset, const std::string& said) {
        return ask(client, Command::block_status, offset, said.size(), with_payload, said);
    };
    const auto chunk = status(4096, payload(8192, {1}));
    ASSERT_EQ(chunk.type, Chunk::block_status_ext);
    EXPECT_EQ(chunk.at<uint64_t>(8), 8192u);
    expect_error(status(4096, payload(8192, {2})), EINVAL);
    expect_error(status(4096, payload(8192, {1, 1})), EINVAL);
    expect_error(status(4096, payload(8192, {1, 2})), EINVAL);
    expect_error(status(4096, payload(8192, {})), EINVAL);
    expect_error(status(4096, payload(mib, {1})), EINVAL);  // past the end
    expect_error(status(0, "abc"), EINVAL);
    EXPECT_EQ(status(0, payload(mib, {1})).type, Chunk::block_status_ext);
}

// The payload follows a large write, when the server takes no more than a header at a time.
TEST_F(Extended, APayloadBehindALargeWriteIsTakenToo) {
    serve("memory:1M");
    RawClient client(socket_);
    client.enter_extended(true);
    const std::string data(65536, 'l');
    EXPECT_EQ(ask(client, Command::write, 0, data.size(), with_payload, data).type, Chunk::none);
    std::string said;
    RawClient::append(said, uint64_t{4096});
    RawClient::append(said, uint32_t{1});
    client.extended_request(Command::block_status, 0, said.size(), with_payload);
    client.send();
    for (const char byte : said) ASSERT_TRUE(client.send_now(&byte, 1));
    EXPECT_EQ(client.extended_chunk().type, Chunk::block_status_ext);
}

TEST_F(Extended, APayloadThatIsNotWantedIsReadAndTheStreamStaysInStep) {
    serve("memory:1M");
    RawClient client(socket_);
    client.enter_extended(false);
    for (const Command type : {Command::read, Command::flush, Command::trim, Command::cache,
                               Command::write_zeroes, Command::block_status, Command{99}}) {
        expect_error(ask(client, type, 0, 5000, with_payload, std::string(5000, 'p')), EINVAL);
    }
    expect_error(ask(client, Command::write, mib, 4096, with_payload, std::string(4096, 'w')),
                 ENOSPC);
    expect_error(ask(client, Command::write, 0, 65 * mib, with_payload, std::string(65 * mib, 'w')),
                 EINVAL);
    EXPECT_EQ(ask(client, Command::read, 0, 16).payload.substr(8), std::string(16, '\0'));
}

// QEMU's client writes so.
TEST_F(Extended, AWriteWithoutThePayloadFlagBringsItsDataAllTheSame) {
    serve("memory:1M");
    RawClient client(socket_);
    client.enter_extended(false);
    const std::string data(4096, 'w');
    EXPECT_EQ(ask(client, Command::write, 8192, 4096, 0, data).type, Chunk::none);
    expect_error(ask(client, Command::write, mib, 4096, 0, data), ENOSPC);
    EXPECT_EQ(ask(client, Command::read, 8192, 4096).payload.substr(8), data);
}

TEST_F(Extended, EachWrongRequestGetsItsError) {
    serve("memory:1M");
    RawClient client(socket_);
    client.enter_extended(false);
    expect_error(ask(client, Command::read, 0, uint64_t{1} << 32), EINVAL);
    expect_error(ask(client, Command::read, ~uint64_t{0}, ~uint64_t{0}), EINVAL);
    expect_error(ask(client, Command::write_zeroes, 512, ~uint64_t{0}), ENOSPC);
    expect_error(ask(client, Command::trim, 512, ~uint64_t{0} - 511), EINVAL);
    expect_error(ask(client, Command::block_status, 0, 512), EINVAL);  // none selected
    expect_error(ask(client, Command::resize, 2 * mib, 0), EINVAL);
    expect_error(ask(client, Command::read, 0, 0), EINVAL);
    EXPECT_EQ(ask(client, Command::trim, 0, 0).type, Chunk::none);
}

TEST_F(Extended, ACompactRequestIsALostStream) {
    serve("memory:1M");
    RawClient client(socket_);
    client.enter_extended(false);
    client.request(0, 0, 512);
    client.text("1234");  // as many bytes as an extended header has
    client.send();
    EXPECT_TRUE(client.closed());
}

TEST_F(Extended, AnEndlessPayloadIsAnsweredAndEndsTheConnection) {
    serve("memory:1M");
    RawClient client(socket_);
    client.enter_extended(false);
    expect_error(ask(client, Command::write, 0, ~uint64_t{0}, with_payload), EINVAL);
    EXPECT_TRUE(client.closed());
}

TEST_F(Extended, ADisconnectIsObeyedWhateverItsOtherFieldsSay) {
    serve("memory:1M");
    RawClient client(socket_);
    client.enter_extended(false);
    client.extended_request(Command::read, 0, 16);
    client.extended_request(Command::disc, ~uint64_t{0}, ~uint64_t{0}, 0xffff);
    client.send();
    EXPECT_EQ(client.extended_chunk().type, Chunk::offset_data);
    EXPECT_EQ(client.receive(1).size(), 0u);
}

TEST_F(Extended, AFailedReadTellsWhere) {
    const std::string image = make_image("disk.img", mib);
    serve(image);
    RawClient client(socket_);
    client.enter_extended(false);
    std::filesystem::resize_file(image, mib / 2);
    const auto chunk = ask(client, Command::read, mib / 2 - 4096, 8192);
    ASSERT_EQ(chunk.type, Chunk::error_offset);
    EXPECT_EQ(chunk.at<uint32_t>(0), static_cast<uint32_t>(EIO));
    EXPECT_EQ(chunk.at<uint64_t>(6), mib / 2);
}

}  // namespace
}  // namespace blkscope::test
