// How libkstat takes in what a provider sends.

#include "kstat/reader/libkstat/data.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>
#include <span>
#include <vector>

namespace wire = blkscope::kstat::wire;

namespace blkscope {

namespace {

class DataTest : public testing::Test {
  protected:
    ~DataTest() override { std::free(ks.ks_data); }

    std::vector<std::byte> body(const void* data, size_t size) {
        head.data_size = size;
        std::vector<std::byte> bytes(sizeof head + size);
        std::memcpy(bytes.data(), &head, sizeof head);
        if (size > 0) std::memcpy(bytes.data() + sizeof head, data, size);
        return bytes;
    }

    int accept(std::span<std::byte> reply, void* buffer) {
        return kstat::accept_data(ks, reply, buffer, room);
    }

    kstat_t ks{};
    wire::DataHead head{};
    kstat::Room room;
};

TEST_F(DataTest, RawBytesArriveInBothBuffers) {
    head.ndata = ks.ks_ndata = 4;
    ks.ks_data_size = 4;
    head.snaptime = 99;
    auto reply = body("abcd", 4);
    char buffer[4];
    ASSERT_EQ(accept(reply, buffer), 0);
    EXPECT_EQ(std::memcmp(ks.ks_data, "abcd", 4), 0);
    EXPECT_EQ(std::memcmp(buffer, "abcd", 4), 0);
    EXPECT_EQ(ks.ks_snaptime, 99);
}

TEST_F(DataTest, AFixedSizeDoesNotGrow) {
    ks.ks_data_size = 2;
    auto reply = body("abcd", 4);
    EXPECT_EQ(accept(reply, nullptr), ENOMEM);
    EXPECT_EQ(ks.ks_data_size, 4u);
    EXPECT_EQ(ks.ks_data, nullptr);
}

// The size that the provider told of must not be taken for that of the buffer by the next read.
TEST_F(DataTest, AFixedSizeStaysWhatTheBufferHasAfterOneThatIsTooLarge) {
    ks.ks_data_size = 2;
    auto small = body("ab", 2);
    ASSERT_EQ(accept(small, nullptr), 0);
    auto large = body("abcdefgh", 8);
    EXPECT_EQ(accept(large, nullptr), ENOMEM);
    EXPECT_EQ(ks.ks_data_size, 2u);
    EXPECT_EQ(accept(large, nullptr), ENOMEM);
}

// A program may free ks_data and get other memory at the same place.
TEST_F(DataTest, MemoryThatHasShrunkIsNotTakenForTheOld) {
    constexpr size_t large = 65536;
    constexpr size_t small = 64;
    const std::vector<std::byte> data(large, std::byte{'a'});
    head.flags = ks.ks_flags = KSTAT_FLAG_VAR_SIZE;
    auto reply = body(data.data(), large);
    ASSERT_EQ(accept(reply, nullptr), 0);
    ks.ks_data = std::realloc(ks.ks_data, small);  // glibc shrinks it in place
    ks.ks_data_size = small;
    ASSERT_NE(ks.ks_data, nullptr);
    ASSERT_EQ(accept(reply, nullptr), 0);
    EXPECT_EQ(ks.ks_data_size, large);
    EXPECT_GE(malloc_usable_size(ks.ks_data), large);
    EXPECT_EQ(std::memcmp(ks.ks_data, data.data(), large), 0);
}

TEST_F(DataTest, AFailedReadNeverPromisesMoreRecordsThanThereAre) {
    kstat_named_t record{};
    ks.ks_type = head.type = KSTAT_TYPE_NAMED;
    ks.ks_ndata = head.ndata = 1;
    ks.ks_data_size = sizeof record;
    auto reply = body(&record, sizeof record);
    ASSERT_EQ(accept(reply, nullptr), 0);
    head.ndata = 1'000'000;
    kstat::accept_head(ks, wire::bytes_of(head));
    EXPECT_EQ(ks.ks_ndata, 1u);
    head.ndata = 1;
    head.type = KSTAT_TYPE_RAW;
    head.snaptime = 5;
    kstat::accept_head(ks, wire::bytes_of(head));
    EXPECT_EQ(ks.ks_snaptime, 0);
}

// The bytes behind the records are strings; a check of records would not look at them.
TEST_F(DataTest, AFailedReadDoesNotMakeRecordsOfStrings) {
    std::vector<char> data(3 * sizeof(kstat_named_t), 'x');
    std::memset(data.data(), 0, sizeof(kstat_named_t));
    ks.ks_type = head.type = KSTAT_TYPE_NAMED;
    head.flags = KSTAT_FLAG_VAR_SIZE;
    head.ndata = 1;
    auto reply = body(data.data(), data.size());
    ASSERT_EQ(accept(reply, nullptr), 0);
    head.ndata = 3;
    head.snaptime = 5;
    kstat::accept_head(ks, wire::bytes_of(head));
    EXPECT_EQ(ks.ks_ndata, 1u);
    EXPECT_EQ(ks.ks_snaptime, 5);
}

TEST_F(DataTest, AVariableSizeGrowsAndKeepsItsPlaceWhenItShrinks) {
    head.flags = ks.ks_flags = KSTAT_FLAG_VAR_SIZE;
    auto small = body("ab", 2);
    ASSERT_EQ(accept(small, nullptr), 0);
    auto large = body("abcdefgh", 8);
    ASSERT_EQ(accept(large, nullptr), 0);
    EXPECT_EQ(ks.ks_data_size, 8u);
    const void* const place = ks.ks_data;
    ASSERT_EQ(accept(small, nullptr), 0);
    EXPECT_EQ(ks.ks_data, place);
    EXPECT_EQ(ks.ks_data_size, 2u);
}

// The memory is as large as it was: there is room for what was there before.
TEST_F(DataTest, AFixedSizeMayShrinkAndGrowBack) {
    ks.ks_data_size = 8;
    auto large = body("abcdefgh", 8);
    ASSERT_EQ(accept(large, nullptr), 0);
    const void* const place = ks.ks_data;
    auto small = body("ab", 2);
    ASSERT_EQ(accept(small, nullptr), 0);
    ASSERT_EQ(accept(large, nullptr), 0);
    EXPECT_EQ(ks.ks_data, place);
    EXPECT_EQ(ks.ks_data_size, 8u);
    EXPECT_EQ(std::memcmp(ks.ks_data, "abcdefgh", 8), 0);
    auto larger = body("abcdefghi", 9);
    EXPECT_EQ(accept(larger, nullptr), ENOMEM);
}

// A caller may have put memory of its own there, of the size that the header says.
TEST_F(DataTest, MemoryOfTheCallerIsAsLargeAsTheHeaderSays) {
    head.flags = ks.ks_flags = KSTAT_FLAG_VAR_SIZE;
    ks.ks_data_size = 8;
    auto large = body("abcdefgh", 8);
    ASSERT_EQ(accept(large, nullptr), 0);
    void* const own = std::calloc(1, 2);
    std::free(ks.ks_data);
    ks.ks_data = own;
    ks.ks_data_size = 2;
    room.place = nullptr;
    ASSERT_EQ(accept(large, nullptr), 0);
    EXPECT_EQ(ks.ks_data, room.place);
    EXPECT_EQ(room.size, 8u);
}

TEST_F(DataTest, DataOfAnotherTypeIsAnError) {
    ks.ks_type = KSTAT_TYPE_IO;
    auto reply = body("abcd", 4);
    EXPECT_EQ(accept(reply, nullptr), EIO);
    EXPECT_EQ(accept({}, nullptr), EIO);
}

TEST_F(DataTest, AFailedReadNeverPromisesMoreDataThanThereIs) {
    ks.ks_data_size = 4;
    ks.ks_data = std::calloc(1, 4);
    head.data_size = 400;
    kstat::accept_head(ks, wire::bytes_of(head));
    EXPECT_EQ(ks.ks_data_size, 4u);
}

TEST_F(DataTest, RandomNamedDataNeverPointsOutside) {
    std::mt19937 random(20261121);
    ks.ks_type = head.type = KSTAT_TYPE_NAMED;
    head.flags = KSTAT_FLAG_VAR_SIZE;
    int accepted = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::vector<std::byte> data(random() % 160);
        for (std::byte& byte : data) byte = std::byte(random() & 0xff);
        head.ndata = static_cast<uint32_t>(random() % 4);
        for (size_t i = 0; i < head.ndata && (i + 1) * 48 <= data.size(); ++i) {
            kstat_named_t record{};
            record.data_type = KSTAT_DATA_STRING;
            KSTAT_NAMED_STR_PTR(&record) = reinterpret_cast<char*>(uintptr_t{random() % 170});
            KSTAT_NAMED_STR_BUFLEN(&record) = static_cast<uint32_t>(random() % 20);
            std::memcpy(data.data() + i * 48, &record, sizeof record);
        }
        auto reply = body(data.data(), data.size());
        if (accept(reply, nullptr) != 0) continue;
        ++accepted;
        const auto* const start = static_cast<const char*>(ks.ks_data);
        for (uint_t i = 0; i < ks.ks_ndata; ++i) {
            const kstat_named_t& record = KSTAT_NAMED_PTR(&ks)[i];
            if (record.data_type != KSTAT_DATA_STRING) continue;
            const char* const text = KSTAT_NAMED_STR_PTR(&record);
            if (text == nullptr) continue;
            ASSERT_GE(text, start + ks.ks_ndata * 48);
            ASSERT_LE(text + std::strlen(text) + 1, start + ks.ks_data_size);
        }
    }
    EXPECT_GT(accepted, 100);
}

TEST_F(DataTest, AWriteTakesStringsAlongFromTheCallersBuffer) {
    ks.ks_type = KSTAT_TYPE_NAMED;
    ks.ks_ndata = 1;
    ks.ks_data_size = 48 + 8;
    struct {
        kstat_named_t record;
        char text[8];
    } buffer{};
    buffer.record.data_type = KSTAT_DATA_STRING;
    std::strcpy(buffer.text, "hello");
    KSTAT_NAMED_STR_PTR(&buffer.record) = buffer.text;
    KSTAT_NAMED_STR_BUFLEN(&buffer.record) = 6;
    auto request = kstat::prepare_write(ks, &buffer);
    ASSERT_TRUE(request);
    std::vector<std::byte>& data = request->data;
    EXPECT_EQ(KSTAT_NAMED_STR_PTR(KSTAT_NAMED_PTR(&ks)), static_cast<char*>(ks.ks_data) + 48);
    ASSERT_TRUE(wire::offsets_to_pointers(data, 1));
    kstat_named_t sent;
    std::memcpy(&sent, data.data(), sizeof sent);
    EXPECT_STREQ(KSTAT_NAMED_STR_PTR(&sent), "hello");
}

TEST_F(DataTest, AStringOutsideOfWhatIsWrittenIsInvalid) {
    ks.ks_type = KSTAT_TYPE_NAMED;
    ks.ks_ndata = 1;
    ks.ks_data_size = 48 + 8;
    struct {
        kstat_named_t record;
        char text[8];
    } buffer{};
    buffer.record.data_type = KSTAT_DATA_STRING;
    char elsewhere[] = "secret";
    KSTAT_NAMED_STR_PTR(&buffer.record) = elsewhere;
    KSTAT_NAMED_STR_BUFLEN(&buffer.record) = sizeof elsewhere;
    EXPECT_EQ(kstat::prepare_write(ks, &buffer).error().value(), EINVAL);
    KSTAT_NAMED_STR_PTR(&buffer.record) = nullptr;
    EXPECT_TRUE(kstat::prepare_write(ks, &buffer));
}

TEST_F(DataTest, AWriteOfNothingIsInvalid) {
    EXPECT_EQ(kstat::prepare_write(ks, nullptr).error().value(), EINVAL);
}

}  // namespace

}  // namespace blkscope
