// A volatile write cache before a backing: its reads, its durable data, and a loss of power.
#include "blockdev/backing/crash_backing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "behaviour_fixture.hpp"

namespace blkscope {
namespace {

class CrashBackingTest : public BehaviourTest {
  protected:
    void cached(model::CrashCacheOptions options) {
        auto memory = std::make_unique<MemoryBacking>(device_bytes);
        medium_ = memory->another();
        auto crash = std::make_unique<CrashBacking>(std::move(memory), options);
        cache_ = crash->cache();
        give(std::move(crash), DeviceOptions{.queue_depth = 8});
    }

    void write(uint64_t offset, char value, bool fua = false) {
        std::vector<std::byte> page(4096, static_cast<std::byte>(value));
        TestBuf buf(Buf::Op::write, offset);
        buf.data = page.data();
        buf.fua = fua;
        run(buf);
        EXPECT_EQ(buf.error, 0);
    }
    void flush() {
        TestBuf buf(Buf::Op::flush);
        run(buf);
        EXPECT_EQ(buf.error, 0);
    }
    /// The byte that the whole page has; 0 for zeroes, ? for several.
    static char page_of(const std::vector<std::byte>& page) {
        const bool same = std::count(page.begin(), page.end(), page[0]) == 4096;
        return same ? static_cast<char>(page[0]) : '?';
    }
    char read(uint64_t offset) {
        std::vector<std::byte> page(4096);
        TestBuf buf(Buf::Op::read, offset);
        buf.data = page.data();
        run(buf);
        EXPECT_EQ(buf.error, 0);
        return page_of(page);
    }
    char durable(uint64_t offset) {
        std::vector<std::byte> page(4096);
        EXPECT_TRUE(medium_->read_now(offset, page));
        return page_of(page);
    }

    std::unique_ptr<Backing> medium_;
    std::shared_ptr<VolatileCache> cache_;
};

TEST_F(CrashBackingTest, AWriteIsReadAndDurableAfterAFlush) {
    cached({.size_bytes = 1 << 20});
    write(4096, 'a');
    EXPECT_EQ(read(4096), 'a');
    EXPECT_EQ(durable(4096), 0);
    flush();
    EXPECT_EQ(durable(4096), 'a');
}

TEST_F(CrashBackingTest, FuaMakesItsOwnRangeDurable) {
    cached({.size_bytes = 1 << 20});
    write(0, 'a');
    write(4096, 'b', true);
    EXPECT_EQ(durable(0), 0);
    EXPECT_EQ(durable(4096), 'b');
}

TEST_F(CrashBackingTest, ALossOfPowerKeepsWhatWasFlushedOrLater) {
    bool lost = false;
    bool kept = false;
    for (uint64_t seed = 0; seed < 40; ++seed) {
        device_.reset();
        cached({.size_bytes = 1 << 20, .block_bytes = 512, .seed = seed});
        write(0, 'a');
        flush();
        write(0, 'b');
        const auto survival = cache_->lose_power();
        ASSERT_TRUE(survival);
        EXPECT_EQ(survival->blocks, 8u);
        std::vector<std::byte> page(4096);
        ASSERT_TRUE(medium_->read_now(0, page));
        for (const std::byte byte : page) {
            ASSERT_TRUE(byte == std::byte{'a'} || byte == std::byte{'b'});
            lost = lost || byte == std::byte{'a'};
            kept = kept || byte == std::byte{'b'};
        }
        EXPECT_EQ(read(0), durable(0));
    }
    EXPECT_TRUE(lost);
    EXPECT_TRUE(kept);
}

TEST_F(CrashBackingTest, ALyingDiskLosesWhatWasFlushed) {
    bool lost = false;
    for (uint64_t seed = 0; seed < 20; ++seed) {
        device_.reset();
        cached({.size_bytes = 1 << 20, .ignores_flush = true, .seed = seed});
        write(0, 'a', true);
        flush();
        cache_->lose_power();
        lost = lost || durable(0) == 0;
    }
    EXPECT_TRUE(lost);
}

TEST_F(CrashBackingTest, AnOrderlyEndWritesAllBack) {
    cached({.size_bytes = 1 << 20, .ignores_flush = true});
    write(8192, 'z');
    EXPECT_EQ(durable(8192), 0);
    device_.reset();
    cache_.reset();
    EXPECT_EQ(durable(8192), 'z');
}

TEST_F(CrashBackingTest, AFullCacheWritesBack) {
    cached({.size_bytes = 16384});
    for (uint64_t page = 0; page < 16; ++page) write(page * 4096, 'f');
    int written = 0;
    for (uint64_t page = 0; page < 16; ++page) {
        EXPECT_EQ(read(page * 4096), 'f');
        written += durable(page * 4096) == 'f' ? 1 : 0;
    }
    EXPECT_EQ(written, 12);
}

TEST_F(CrashBackingTest, ATrimIsDataOfTheCache) {
    cached({.size_bytes = 1 << 20});
    write(0, 'a');
    flush();
    TestBuf trim(Buf::Op::trim, 0, device_bytes / 2);
    run(trim);
    EXPECT_EQ(trim.error, 0);
    EXPECT_EQ(read(0), 0);
    EXPECT_EQ(durable(0), 'a');
    flush();
    EXPECT_EQ(durable(0), 0);
}

TEST_F(CrashBackingTest, AnEmptyTrimDoesNothing) {
    cached({.size_bytes = 1 << 20});
    write(0, 'a');
    for (const uint64_t offset : {uint64_t{0}, device_bytes}) {
        TestBuf trim(Buf::Op::trim, offset, 0);
        trim.fua = true;
        run(trim);
        EXPECT_EQ(trim.error, 0);
    }
    EXPECT_EQ(read(0), 'a');
}

TEST_F(CrashBackingTest, ExtentsLookThroughTheCache) {
    cached({.size_bytes = 1 << 20});
    const auto backing = device_->backing().another();
    EXPECT_TRUE(backing->extent_at(0, 4096).hole);
    write(0, 'a');
    EXPECT_FALSE(backing->extent_at(0, 4096).hole);
    EXPECT_TRUE(backing->extent_at(65536, 4096).hole);
    // Only the block with the write is data, however long the hole of the backing is.
    EXPECT_EQ(backing->extent_at(0, 65536), (Extent{4096, false}));
    EXPECT_EQ(backing->extent_at(4096, 61440), (Extent{61440, true}));
    write(32768, 'b');
    EXPECT_EQ(backing->extent_at(4096, 61440), (Extent{28672, true}));
    // Also from within that block on.
    EXPECT_EQ(backing->extent_at(512, 65536), (Extent{3584, false}));
}

TEST_F(CrashBackingTest, FastZeroesAreRefusedBecauseTheyAreNotFast) {
    cached({.size_bytes = 1 << 20});
    TestBuf zeroes(Buf::Op::write_zeroes, 0, 4096);
    zeroes.fast_zero = true;
    run(zeroes);
    EXPECT_EQ(zeroes.error, EOPNOTSUPP);
}

// Memory whose writes can fail.
class BadMemory final : public Backing {
  public:
    BadMemory(std::unique_ptr<Backing> memory, std::shared_ptr<bool> bad)
        : memory_(std::move(memory)), bad_(std::move(bad)) {}

    [[nodiscard]] std::string describe() const override { return "bad"; }
    [[nodiscard]] uint64_t size_bytes() const override { return memory_->size_bytes(); }
    void attach(Ring& ring) override { memory_->attach(ring); }
    [[nodiscard]] bool shareable() const override { return true; }
    [[nodiscard]] std::unique_ptr<Backing> another() const override {
        return std::make_unique<BadMemory>(memory_->another(), bad_);
    }
    std::optional<int32_t> prepare(Buf& buf) override { return memory_->prepare(buf); }
    bool read_now(uint64_t offset, std::span<std::byte> to) override {
        return memory_->read_now(offset, to);
    }
    bool write_now(uint64_t offset, std::span<const std::byte> from) override {
        return !*bad_ && memory_->write_now(offset, from);
    }

  private:
    std::unique_ptr<Backing> memory_;
    std::shared_ptr<bool> bad_;
};

class BadCrashBackingTest : public CrashBackingTest {
  protected:
    void cached_badly(uint64_t size_bytes) {
        auto crash = std::make_unique<CrashBacking>(
            std::make_unique<BadMemory>(std::make_unique<MemoryBacking>(device_bytes), bad_),
            model::CrashCacheOptions{.size_bytes = size_bytes});
        cache_ = crash->cache();
        give(std::move(crash), DeviceOptions{.queue_depth = 8});
    }
    int error_of(Buf::Op op, uint64_t offset, bool fua = false) {
        std::vector<std::byte> page(4096, std::byte{'e'});
        TestBuf buf(op, offset);
        buf.data = page.data();
        buf.fua = fua;
        run(buf);
        return buf.error;
    }

    std::shared_ptr<bool> bad_ = std::make_shared<bool>(false);
};

// The data of another write is lost, and that one was acknowledged.
TEST_F(BadCrashBackingTest, AFlushFailsAfterAWriteBackThatFailed) {
    cached_badly(8192);
    write(0, 'a');
    write(4096, 'b');
    *bad_ = true;
    EXPECT_EQ(error_of(Buf::Op::write, 8192), 0);
    *bad_ = false;
    EXPECT_EQ(error_of(Buf::Op::write, 12288, true), 0);
    EXPECT_EQ(error_of(Buf::Op::flush, 0), EIO);
}

TEST_F(BadCrashBackingTest, AForcedWriteFailsByItself) {
    cached_badly(1 << 20);
    *bad_ = true;
    EXPECT_EQ(error_of(Buf::Op::write, 0, true), EIO);
    *bad_ = false;
    EXPECT_EQ(error_of(Buf::Op::flush, 0), 0);
}

TEST_F(BadCrashBackingTest, ALossOfPowerTellsThatTheBackingRefusesWrites) {
    cached_badly(1 << 20);
    for (uint64_t page = 0; page < 32; ++page) write(page * 4096, 'a');
    *bad_ = true;
    EXPECT_FALSE(cache_->lose_power());
    *bad_ = false;
    EXPECT_TRUE(cache_->lose_power());
}

// A trim whose client may have closed its connection.
struct Trim : TestBuf {
    Trim() : TestBuf(Op::trim, 0, device_bytes) {}
    [[nodiscard]] bool wanted() const override { return is_wanted; }
    bool is_wanted = true;
};

// The rest would be done after the loss, in a cache that has power again.
TEST_F(CrashBackingTest, TheRestOfATrimIsNotDoneWithoutPower) {
    cached({.size_bytes = 1 << 20});
    for (uint64_t offset = 0; offset < device_bytes; offset += 4096) write(offset, 'a');
    flush();
    Trim trim;
    device_->strategy(trim);
    settle();
    EXPECT_EQ(trim.done, 0);
    device_->power_off();
    trim.is_wanted = false;
    finish(trim);
    EXPECT_EQ(trim.error, ESHUTDOWN);
    EXPECT_GT(trim.moved(), 0u);
    EXPECT_GT(trim.resid, 0u);
    device_->power_on();
}

// mkfs trims a whole disk. On a sparse image that takes no space.
TEST_F(CrashBackingTest, AHoleThatIsTrimmedStaysOne) {
    cached({.size_bytes = 1 << 20});
    write(0, 'a');
    flush();
    Trim trim;
    run(trim);
    flush();
    EXPECT_EQ(durable(0), 0);
    constexpr uint64_t middle = device_bytes / 2;
    EXPECT_EQ(medium_->extent_at(middle, 4096), (Extent{4096, true}));
    TestBuf zeroes(Buf::Op::write_zeroes, middle, 4096);
    zeroes.no_hole = true;
    run(zeroes);
    flush();
    EXPECT_EQ(medium_->extent_at(middle, 4096), (Extent{4096, false}));
}

TEST_F(CrashBackingTest, TheServersOwnFlushIsNoLie) {
    cached({.size_bytes = 1 << 20, .ignores_flush = true});
    write(0, 'a');
    TestBuf last(Buf::Op::flush);
    last.exempt = true;
    run(last);
    EXPECT_EQ(last.error, 0);
    EXPECT_EQ(durable(0), 'a');
}

}  // namespace
}  // namespace blkscope
