// blkscope in front of a server that is killed again and again. The server has a volatile cache, so
// each kill loses its unflushed writes. Clients write, flush and verify meanwhile.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <deque>
#include <random>
#include <thread>

#include "unit/rounds/rounds.hpp"
#include "upstream_device.hpp"

namespace blkscope::test {
namespace {

constexpr size_t sector_bytes = 512;
constexpr size_t sectors_max = 16;  // of a request

/// A client, perhaps with several connections, and what each of its sectors may hold.
class VerifyingClient {
  public:
    VerifyingClient(const std::string& uri, unsigned connections, uint64_t first_sector,
                    size_t sectors)
        : first_sector_(first_sector), allowed_(sectors, {0}), random_(first_sector + 1) {
        while (connections_.size() < connections) connections_.emplace_back(uri);
    }

    void step() {
        const auto kind = below(10);
        if (kind < 5) return write(0);
        if (kind < 6) return write(LIBNBD_CMD_FLAG_FUA);
        if (kind < 9) return read_some();
        flush();
    }
    /// Flushes, and finds what it wrote last in each sector.
    void end() {
        flush();
        for (size_t at = 0; at < allowed_.size(); at += sectors_max) {
            read(at, sectors_max, &VerifyingClient::expect_latest);
        }
    }
    /// The image has the latest of each sector.
    void expect_in(const std::string& image) {
        std::ifstream file(image, std::ios::binary);
        file.seekg(static_cast<std::streamoff>(first_sector_ * sector_bytes));
        for (size_t sector = 0; sector < allowed_.size(); ++sector) {
            Data data{};
            file.read(reinterpret_cast<char*>(data.data()), sector_bytes);
            expect_latest(sector, data);
        }
    }

    [[nodiscard]] uint64_t done() const { return done_; }
    [[nodiscard]] uint64_t told() const { return told_; }

  private:
    using Data = std::array<uint64_t, sector_bytes / sizeof(uint64_t)>;
    using Check = void (VerifyingClient::*)(size_t sector, const Data& data);

    uint64_t below(uint64_t bound) { return random_() % bound; }
    Client& any_connection() { return connections_[below(connections_.size())]; }

    void write(uint32_t flags) {
        const size_t count = 1 + below(sectors_max);
        const size_t at = below(allowed_.size() - count);
        std::vector<Data> data(count);
        for (Data& each : data) each.fill(++number_);
        Client& connection = any_connection();
        const int error = nbd_pwrite(connection.get(), data.data(), count * sector_bytes,
                                     (first_sector_ + at) * sector_bytes, flags) == 0
                              ? 0
                              : nbd_get_errno();
        for (size_t i = 0; i < count; ++i) {
            std::vector<uint64_t>& allowed = allowed_[at + i];
            if (error == 0 && flags != 0) allowed.clear();
            allowed.push_back(data[i].front());
        }
        ++done_;
        if (error == 0) return;
        EXPECT_EQ(error, EIO);
        EXPECT_NE(flags, 0u) << "only a flush and a FUA write are told a loss";
        find_out(connection);
    }
    void flush() {
        Client& connection = any_connection();
        ++done_;
        if (nbd_flush(connection.get(), 0) != 0) {
            EXPECT_EQ(nbd_get_errno(), EIO);
            return find_out(connection);
        }
        keep_latest();
    }
    void keep_latest() {
        for (std::vector<uint64_t>& allowed : allowed_) allowed = {allowed.back()};
        const size_t at = below(allowed_.size() - sectors_max);
        read(at, sectors_max, &VerifyingClient::expect_allowed);
    }
    // A sector has what is read after the loss, and the next flush that succeeds makes it stable.
    void find_out(Client& connection) {
        ++told_;
        for (int attempts = 0; attempts < 100; ++attempts) {
            for (size_t at = 0; at < allowed_.size(); at += sectors_max) {
                read(at, sectors_max, &VerifyingClient::take_over);
            }
            if (nbd_flush(connection.get(), 0) == 0) return keep_latest();
        }
        ADD_FAILURE() << "no flush succeeds";
    }
    void read_some() {
        const size_t count = 1 + below(sectors_max);
        read(below(allowed_.size() - count), count, &VerifyingClient::expect_allowed);
        ++done_;
    }
    void read(size_t at, size_t count, Check check) {
        std::vector<Data> data(count);
        ASSERT_EQ(nbd_pread(any_connection().get(), data.data(), count * sector_bytes,
                            (first_sector_ + at) * sector_bytes, 0),
                  0)
            << nbd_get_error();
        for (size_t i = 0; i < count; ++i) (this->*check)(at + i, data[i]);
    }

    void expect_allowed(size_t sector, const Data& data) {
        const bool is_whole = std::ranges::all_of(data, [&](uint64_t n) { return n == data[0]; });
        const bool is_known = std::ranges::count(allowed_[sector], data[0]) > 0;
        EXPECT_TRUE(is_whole && is_known)
            << "sector " << sector << " has " << data[0] << ", and " << allowed_[sector].back()
            << " is the latest of " << allowed_[sector].size();
    }
    void expect_latest(size_t sector, const Data& data) {
        expect_allowed(sector, data);
        EXPECT_EQ(data[0], allowed_[sector].back()) << sector;
    }
    void take_over(size_t sector, const Data& data) {
        expect_allowed(sector, data);
        allowed_[sector].push_back(data[0]);
    }

    const uint64_t first_sector_;
    std::deque<Client> connections_;
    // Of each sector the number at the latest flush, and all that came since. The last one is the latest.
    std::vector<std::vector<uint64_t>> allowed_;
    std::mt19937_64 random_;
    uint64_t number_ = 0;
    std::atomic<uint64_t> done_{0};
    uint64_t told_ = 0;
};

class UpstreamKilled : public Upstream {
  protected:
    static constexpr size_t client_sectors = 1024;

    void start_volatile() { start_ours("disk.img", {"--crash-cache", "64M"}); }

    /// Kills the server behind the device under load, and checks all at the end.
    void live(unsigned clients, unsigned connections, const std::string& upstream_connections) {
        make_image("disk.img", image_bytes);
        start_volatile();
        serve("disk=" + our_uri(), {"--upstream-connections", upstream_connections});
        std::deque<VerifyingClient> all;
        for (unsigned i = 0; i < clients; ++i) {
            all.emplace_back(uri(), connections, i * client_sectors, client_sectors);
        }
        std::atomic<bool> ends{false};
        std::vector<std::thread> threads;
        for (VerifyingClient& client : all) {
            threads.emplace_back([&] {
                while (!ends.load() && !HasFailure()) client.step();
                client.end();
            });
        }
        kill_again_and_again(all);
        ends.store(true);
        for (std::thread& thread : threads) thread.join();
        kill_upstream();
        uint64_t told = 0;
        for (VerifyingClient& client : all) {
            client.expect_in(path("disk.img"));
            told += client.told();
        }
        EXPECT_GT(told, 0u) << "no kill has lost a write";
        GTEST_LOG_(INFO) << all.front().done() << " requests of the first client, " << told
                         << " losses told";
    }
    void kill_again_and_again(const std::deque<VerifyingClient>& all) {
        std::mt19937 random(20);
        for (int kills = rounds(5); kills > 0 && !HasFailure(); --kills) {
            for (const VerifyingClient& client : all) {
                const uint64_t more = client.done() + 10 + random() % 200;
                ASSERT_TRUE(eventually([&] { return client.done() >= more || HasFailure(); }));
            }
            kill_upstream();
            start_volatile();
        }
    }
};

TEST_F(UpstreamKilled, TwoClientsLoseNothingThatWasFlushed) {
    live(2, 1, "1");
}

TEST_F(UpstreamKilled, AClientWithFourConnectionsLosesNothingThatWasFlushed) {
    live(1, 4, "1");
}

TEST_F(UpstreamKilled, NothingIsLostOverSeveralConnectionsToTheServer) {
    live(2, 2, "4");
}

}  // namespace
}  // namespace blkscope::test
