// kill -9 at random moments under load. All that the server called stable is in the file. The
// kernel keeps the writes to the page cache, so the same holds for every answered write. So the
// test also checks the writes that no flush followed.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "served_device.hpp"
#include "unit/rounds/rounds.hpp"

namespace blkscope::test {
namespace {

constexpr int kills_usual = 50;
constexpr int writers_at_once = 3;
constexpr size_t blocks_each = 64;
constexpr size_t killed_block_bytes = 4096;
constexpr size_t words_each = killed_block_bytes / sizeof(uint64_t);

// The state of the blocks of one writer, over all kills. A block holds its version in every word.
struct Region {
    uint64_t first_byte;
    std::vector<uint64_t> sent = std::vector<uint64_t>(blocks_each);
    std::vector<uint64_t> answered = std::vector<uint64_t>(blocks_each);
    std::vector<uint64_t> stable = std::vector<uint64_t>(blocks_each);
    uint64_t promises = 0;  // FUA writes and flushes that were answered
};

// Writes to its region, some with FUA, and flushes sometimes, until the server has ended.
class KilledWriter {
  public:
    KilledWriter(const std::string& uri, Region& region, unsigned seed)
        : client_(uri), region_(region), random_(seed), thread_([this] { write_until_killed(); }) {}
    ~KilledWriter() { thread_.join(); }
    KilledWriter(const KilledWriter&) = delete;
    KilledWriter& operator=(const KilledWriter&) = delete;

    [[nodiscard]] unsigned steps() const { return steps_; }

  private:
    void write_until_killed() {
        while (random_() % 8 == 0 ? flush() : write()) ++steps_;
    }

    bool flush() {
        if (nbd_flush(client_.get(), 0) < 0) return false;
        region_.stable = region_.answered;
        ++region_.promises;
        return true;
    }

    bool write() {
        const size_t block = random_() % blocks_each;
        const bool fua = random_() % 4 == 0;
        const uint64_t version = ++region_.sent[block];
        const std::vector<uint64_t> data(words_each, version);
        if (nbd_pwrite(client_.get(), data.data(), killed_block_bytes,
                       region_.first_byte + block * killed_block_bytes,
                       fua ? LIBNBD_CMD_FLAG_FUA : 0) < 0) {
            return false;
        }
        region_.answered[block] = version;
        if (fua) {
            region_.stable[block] = version;
            ++region_.promises;
        }
        return true;
    }

    Client client_;
    Region& region_;
    std::mt19937 random_;
    std::atomic<unsigned> steps_{0};
    std::thread thread_;
};

class Killed : public ServedDevice {
  protected:
    // No word is older than what was promised, or from the future. A block whose last write was
    // answered is whole. A copy to the mapping may be cut anywhere, so other blocks may be torn.
    static void expect_kept(const std::string& image, const Region& region) {
        std::ifstream in(image, std::ios::binary);
        for (size_t block = 0; block < blocks_each; ++block) {
            std::vector<uint64_t> words(words_each);
            in.seekg(static_cast<std::streamoff>(region.first_byte + block * killed_block_bytes));
            in.read(reinterpret_cast<char*>(words.data()), killed_block_bytes);
            ASSERT_TRUE(in.good());
            const auto [oldest, newest] = std::minmax_element(words.begin(), words.end());
            if (region.sent[block] == region.answered[block]) {
                ASSERT_EQ(*oldest, *newest) << "answered, and torn: block " << block;
            }
            ASSERT_GE(*oldest, region.stable[block]) << "flushed, and lost: block " << block;
            ASSERT_GE(*oldest, region.answered[block]) << "answered, and lost: block " << block;
            ASSERT_LE(*newest, region.sent[block]) << "never written: block " << block;
        }
    }

    // Without the order of an end: as the kernel or the power would do it.
    void kill_after(std::chrono::microseconds moment,
                    const std::vector<std::unique_ptr<KilledWriter>>& all) {
        ASSERT_TRUE(eventually([&] {
            return std::all_of(all.begin(), all.end(),
                               [](const auto& w) { return w->steps() > 20; });
        }));
        std::this_thread::sleep_for(moment);  // random, or it is always the same place that is hit
        server_->signal(SIGKILL);
        ASSERT_EQ(server_->wait(), 128 + SIGKILL);
    }
};

TEST_F(Killed, FiftyTimesUnderLoadLosesNothingThatWasPromised) {
    const int kills = rounds(kills_usual);
    const std::string image =
        make_image("disk.img", writers_at_once * blocks_each * killed_block_bytes);
    std::vector<Region> regions;
    for (size_t i = 0; i < writers_at_once; ++i)
        regions.push_back({.first_byte = i * blocks_each * killed_block_bytes});
    std::mt19937 random(20261121);
    for (int round = 0; round < kills; ++round) {
        std::vector<std::string> options{"--queue-depth", std::to_string(1 + random() % 8)};
        if (round % 2 == 1) options.emplace_back("--direct");
        serve(image, options);
        {
            std::vector<std::unique_ptr<KilledWriter>> writers;
            for (Region& region : regions)
                writers.push_back(std::make_unique<KilledWriter>(uri(), region, random()));
            kill_after(std::chrono::microseconds(random() % 50'000), writers);
        }
        for (const Region& region : regions)
            ASSERT_NO_FATAL_FAILURE(expect_kept(image, region)) << "kill " << round;
    }
    for (const Region& region : regions)
        EXPECT_GT(region.promises, 10 * static_cast<uint64_t>(kills));
}

}  // namespace
}  // namespace blkscope::test
