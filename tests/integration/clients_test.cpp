// The statistics of clients, as other processes see them.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "served_device.hpp"

namespace blkscope::test {
namespace {

struct CloseChain {
    void operator()(kstat_ctl_t* chain) const { kstat_close(chain); }
};

class Clients : public ServedDevice {
  protected:
    using Chain = std::unique_ptr<kstat_ctl_t, CloseChain>;

    static Chain open_chain() {
        Chain chain(kstat_open());
        EXPECT_NE(chain, nullptr);
        return chain;
    }

    /// The names of the IO kstats of class client, without the device's.
    static std::vector<std::string> clients() {
        std::vector<std::string> names;
        const Chain chain = open_chain();
        for (const kstat_t* ksp = chain->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
            const bool io = ksp->ks_type == KSTAT_TYPE_IO;
            if (io && std::string(ksp->ks_class) == "client") names.emplace_back(ksp->ks_name + 5);
        }
        std::ranges::sort(names);
        return names;
    }

    kstat_io_t sum_of_clients() {
        kstat_io_t sum{};
        for (const std::string& name : clients()) {
            const kstat_io_t io = read_io("nbd0," + name);
            sum.reads += io.reads;
            sum.writes += io.writes;
            sum.nread += io.nread;
            sum.nwritten += io.nwritten;
            sum.wlentime += io.wlentime;
            sum.rlentime += io.rlentime;
        }
        return sum;
    }

    void expect_sum_is_disk() {
        const kstat_io_t sum = sum_of_clients();
        const kstat_io_t disk = read_io();
        EXPECT_EQ(sum.reads, disk.reads);
        EXPECT_EQ(sum.writes, disk.writes);
        EXPECT_EQ(sum.nread, disk.nread);
        EXPECT_EQ(sum.nwritten, disk.nwritten);
        // Each is scaled to nanoseconds by itself.
        const auto apart = static_cast<double>(clients().size());
        EXPECT_NEAR(static_cast<double>(sum.wlentime), static_cast<double>(disk.wlentime), apart);
        EXPECT_NEAR(static_cast<double>(sum.rlentime), static_cast<double>(disk.rlentime), apart);
    }

    static std::string info(const std::string& client, const std::string& record) {
        const Chain chain = open_chain();
        kstat_t* ksp = kstat_lookup(chain.get(), "nbd", 0, ("nbd0," + client + ",info").c_str());
        if (ksp == nullptr || kstat_read(chain.get(), ksp, nullptr) == -1) return "no kstat";
        auto* named = static_cast<kstat_named_t*>(kstat_data_lookup(ksp, record.c_str()));
        if (named == nullptr) return "no record";
        switch (named->data_type) {
            case KSTAT_DATA_STRING:
                return KSTAT_NAMED_STR_PTR(named);
            case KSTAT_DATA_INT32:
                return std::to_string(named->value.i32);
            case KSTAT_DATA_INT64:
                return std::to_string(named->value.i64);
            default:
                return std::to_string(named->value.ui64);
        }
    }
};

// One process may have several clients: --client-by connection.
TEST_F(Clients, EightThatComeAndGoAddUpToTheDisk) {
    serve("memory:16M", {"--client-by", "connection", "--client-stats", "5", "--queue-depth", "2"});
    std::mt19937 random(20261123);
    std::vector<std::unique_ptr<Client>> connected(8);
    for (int i = 0; i < 400; ++i) {
        auto& client = connected[random() % connected.size()];
        if (!client) {
            client = std::make_unique<Client>(uri());
        } else if (random() % 20 == 0) {
            client.reset();
        } else if (random() % 2 == 0) {
            ASSERT_EQ(client->try_read(4096 * (random() % 1024), 4096 * (1 + random() % 16)), 0);
        } else {
            ASSERT_EQ(client->try_write(4096 * (random() % 1024), 4096), 0);
        }
        if (i % 40 == 0) expect_sum_is_disk();
    }
    expect_sum_is_disk();
    connected.clear();
    ASSERT_TRUE(eventually([&] { return read_command_count("connections") == 0; }));
    expect_sum_is_disk();
    EXPECT_EQ(clients(), (std::vector<std::string>{"client-gone", "client-other"}));
    EXPECT_GT(read_io("nbd0,client-gone").reads, 0u);
    EXPECT_GT(read_io("nbd0,client-other").reads, 0u);
}

TEST_F(Clients, FourConnectionsOfAProcessAreOneClientWithItsName) {
    serve("memory:1M");
    std::vector<std::unique_ptr<Client>> connections;
    for (int i = 0; i < 4; ++i) connections.push_back(std::make_unique<Client>(uri()));
    for (const auto& connection : connections) EXPECT_EQ(connection->try_read(0, 512), 0);
    EXPECT_EQ(clients(), (std::vector<std::string>{"client-1", "client-gone", "client-other"}));
    EXPECT_EQ(read_io("nbd0,client-1").reads, 4u);
    EXPECT_EQ(info("client-1", "connections"), "4");
    EXPECT_EQ(info("client-1", "read_requests"), "4");
    EXPECT_EQ(info("client-1", "pid"), std::to_string(getpid()));
    EXPECT_EQ(info("client-1", "uid"), std::to_string(getuid()));
    EXPECT_EQ(info("client-1", "program"), "integration_tes");  // 15 bytes, as Linux has it
    EXPECT_EQ(info("client-1", "peer"),
              "process " + std::to_string(getpid()) + " of user " + std::to_string(getuid()));
}

TEST_F(Clients, EachHasLimitsOfItsOwnThatChangeInPlace) {
    configure(R"({"name": "a", "backing": "memory:1M", "client-limit": "iops=20"})");
    serve_with({"--config", path("lab.json")});
    Client client(uri("a"));
    const auto seconds = [&](int reads) {
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < reads; ++i) EXPECT_EQ(client.try_read(0, 512), 0);
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    EXPECT_GT(seconds(12), 0.4);
    EXPECT_NE(succeed({BLKSCOPE_BINARY, "list", "-v"}).find("client-limit iops=20\n"),
              std::string::npos);
    EXPECT_EQ(succeed({BLKSCOPE_BINARY, "set", "nbd0", "client-limit=iops=10"}),
              "nbd0: client-limit=iops=10\n");
    EXPECT_GT(seconds(6), 0.3);
    configure(R"({"name": "a", "backing": "memory:1M"})");
    reload("client-limit=none");
    EXPECT_LT(seconds(10), 0.4);
    EXPECT_EQ(read_command_count("connections"), 1u);
}

/// A client with 64 writes under way, in a thread of its own.
class DeepWriter {
  public:
    explicit DeepWriter(const std::string& uri) : client_(uri), thread_([this] { write(); }) {}
    ~DeepWriter() {
        stop_ = true;
        thread_.join();
    }

  private:
    void write() {
        unsigned under_way = 0;
        while (!stop_ || under_way > 0) {
            for (; !stop_ && under_way < 64; ++under_way) {
                const uint64_t offset = 4096 * (next_++ % 256);
                if (nbd_aio_pwrite(client_.get(), data_.data(), data_.size(), offset,
                                   nbd_completion_callback{}, 0) == -1) {
                    return;
                }
            }
            if (nbd_poll(client_.get(), 100) == -1) return;
            for (int64_t cookie = 0; (cookie = nbd_aio_peek_command_completed(client_.get())) > 0;
                 --under_way) {
                nbd_aio_command_completed(client_.get(), static_cast<uint64_t>(cookie));
            }
        }
    }

    Client client_;
    std::vector<char> data_ = std::vector<char>(4096);
    uint64_t next_ = 0;
    std::atomic<bool> stop_{false};
    std::thread thread_;  // last: it uses the others
};

class NoisyNeighbour : public Clients {
  protected:
    struct Reader {
        double median_ms;
        double wait_ms;  // mean
    };

    /// Serves one read at a time beside a deep writer. The disk serves four requests at once, and
    /// takes 1 ms for each.
    Reader read_beside_a_writer(const std::string& order) {
        serve("memory:1M", {"--model", "all=const:1ms", "--queue-depth", "4", "--client-by",
                            "connection", "--order", order});
        const DeepWriter writer(uri());
        EXPECT_TRUE(eventually([&] { return read_io("nbd0").wcnt >= 50; }));
        Client client(uri());
        std::vector<double> times_ms;
        for (int i = 0; i < 100; ++i) {
            const auto begin = std::chrono::steady_clock::now();
            EXPECT_EQ(client.try_read(0, 4096), 0);
            const std::chrono::duration<double, std::milli> time =
                std::chrono::steady_clock::now() - begin;
            times_ms.push_back(time.count());
        }
        std::ranges::sort(times_ms);
        const kstat_io_t io = read_io("nbd0,client-2");
        EXPECT_EQ(io.reads, 100u);
        EXPECT_EQ(read_io("nbd0,client-1").reads, 0u);
        return {.median_ms = times_ms[50],
                .wait_ms = static_cast<double>(io.wlentime) / 1e6 / io.reads};
    }
};

TEST_F(NoisyNeighbour, IsNoneInFairOrder) {
    const Reader arrival = read_beside_a_writer("arrival");
    EXPECT_EQ(stop_server(), 0);
    const Reader fair = read_beside_a_writer("fair");
    // 60 writes wait before each read, and four start in a millisecond.
    EXPECT_GT(arrival.wait_ms, 8);
    EXPECT_GT(arrival.median_ms, 8);
    // In fair order the read is the next but one that starts.
    EXPECT_LT(fair.wait_ms, arrival.wait_ms / 2);
    EXPECT_LT(fair.median_ms, arrival.median_ms);
}

TEST_F(Clients, WithoutClientsThereAreNoKstatsOfThem) {
    serve("memory:1M", {"--client-by", "none"});
    Client client(uri());
    EXPECT_EQ(client.try_read(0, 512), 0);
    EXPECT_TRUE(clients().empty());
}

TEST_F(Clients, AreDevicesOfIostatOnlyWithTheOption) {
    serve("memory:1M");
    Client client(uri());
    EXPECT_EQ(client.try_read(0, 512), 0);
    EXPECT_EQ(succeed({IOSTAT_BINARY, "-xn", "-p"}).find("client"), std::string::npos);
    const std::string with = succeed({IOSTAT_BINARY, "-xn", "--clients"});
    EXPECT_NE(with.find(" nbd0,client-1\n"), std::string::npos) << with;
    EXPECT_NE(with.find(" nbd0,client-other\n"), std::string::npos) << with;
    EXPECT_EQ(with.find("client-gone"), std::string::npos) << with;
}

TEST_F(Clients, AreListedWithTheirProgramsAndShares) {
    serve("memory:1M");
    Client client(uri());
    for (int i = 0; i < 10; ++i) EXPECT_EQ(client.try_read(0, 4096), 0);
    const std::string table = succeed({BLKSCOPE_BINARY, "clients", "nbd0", "--interval", "0"});
    EXPECT_NE(table.find("nbd0     client-1          1 "), std::string::npos) << table;
    EXPECT_NE(table.find("100%  integration_tes (process " + std::to_string(getpid())),
              std::string::npos)
        << table;
    EXPECT_EQ(run({BLKSCOPE_BINARY, "clients", "nbd7"}).status, 1);
}

}  // namespace
}  // namespace blkscope::test
