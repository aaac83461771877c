// Power failure: a device with a crash cache loses what was not flushed, and nothing else.

#include <gtest/gtest.h>
#include <libnbd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "raw_client.hpp"
#include "served_device.hpp"

namespace blkscope::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr uint64_t page = 4096;
constexpr uint64_t sector = 512;
constexpr uint64_t image_bytes = 1 << 20;
constexpr uint64_t pages = 16;

class PowerFailure : public ServedDevice {
  protected:
    void serve_cached(const std::string& cache, const std::vector<std::string>& more = {}) {
        std::vector<std::string> options{"--crash-cache", cache};
        options.insert(options.end(), more.begin(), more.end());
        serve(make_image("disk.img", image_bytes), options);
    }
    [[nodiscard]] bool logged(const std::string& text) const {
        return server_->output().find(text) != std::string::npos;
    }

    static void write_pages(Client& client, char fill, uint32_t flags = 0) {
        for (uint64_t i = 0; i < pages; ++i) {
            ASSERT_EQ(client.try_write(i * page, page, fill, flags), 0);
        }
    }
    static void flush(Client& client) { ASSERT_EQ(nbd_flush(client.get(), 0), 0); }
    /// A letter for each sector of the pages, by a new client.
    std::string sectors() {
        Client client(uri());
        const std::vector<char> data = client.read(0, pages * page);
        std::string letters;
        for (uint64_t at = 0; at < data.size(); at += sector) {
            const auto begin = data.begin() + static_cast<int64_t>(at);
            EXPECT_EQ(std::count(begin, begin + sector, *begin), static_cast<int64_t>(sector));
            letters.push_back(*begin);
        }
        return letters;
    }
    std::string sectors_of_image() {
        std::ifstream image(path("disk.img"), std::ios::binary);
        std::string letters;
        for (uint64_t i = 0; i < pages * page / sector; ++i) {
            image.seekg(static_cast<int64_t>(i * sector));
            letters.push_back(static_cast<char>(image.get()));
        }
        return letters;
    }
};

std::string all(char letter) {
    return std::string(pages * page / sector, letter);
}

bool has(const std::string& letters, char letter) {
    return letters.find(letter) != std::string::npos;
}

// ---- What is lost, and what is kept ----

TEST_F(PowerFailure, LosesWritesThatWereNotFlushedAndNoOthers) {
    serve_cached("1M", {"--seed", "1"});
    Client client(uri());
    write_pages(client, 'a');
    flush(client);
    write_pages(client, 'b');
    EXPECT_EQ(client.read(0, page), std::vector<char>(page, 'b'));
    const std::string said = blkscope({"crash", "nbd0"});
    EXPECT_EQ(said.rfind("nbd0: power lost: 16 blocks in the cache: ", 0), 0u) << said;
    EXPECT_TRUE(logged("of user ") && logged(" crash: power lost: 16 blocks in the cache: "))
        << server_->output();
    const std::string left = sectors();
    EXPECT_EQ(left.find_first_not_of("ab"), std::string::npos) << left;
    EXPECT_TRUE(has(left, 'a')) << left;
    EXPECT_TRUE(has(left, 'b')) << left;
    EXPECT_EQ(sectors_of_image(), left);
    EXPECT_NE(client.try_read(0, page), 0);  // its connection was closed
}

TEST_F(PowerFailure, KeepsWhatWasFlushedOrForced) {
    serve_cached("1M", {"--seed", "1"});
    Client flushing(uri());
    write_pages(flushing, 'f');
    flush(flushing);
    blkscope({"crash", "nbd0"});
    EXPECT_EQ(sectors(), all('f'));
    Client forcing(uri());
    write_pages(forcing, 'u', LIBNBD_CMD_FLAG_FUA);
    EXPECT_EQ(
        blkscope({"crash", "nbd0"}),
        "nbd0: power lost: 0 blocks in the cache: 0 lost all writes, 0 kept all, 0 kept some, "
        "0 are torn\n");
    EXPECT_EQ(sectors(), all('u'));
}

// The same steps as before. So what keeps data there is the flush.
TEST_F(PowerFailure, OfALyingDiskLosesWhatWasFlushedAndForced) {
    serve_cached("1M,ignore-flush", {"--seed", "1"});
    Client client(uri());
    write_pages(client, 'f');
    flush(client);
    write_pages(client, 'u', LIBNBD_CMD_FLAG_FUA);
    blkscope({"crash", "nbd0"});
    const std::string left = sectors();
    EXPECT_TRUE(has(left, '\0'));
    EXPECT_EQ(left.find_first_not_of(std::string("\0fu", 3)), std::string::npos);
}

TEST_F(PowerFailure, TearsNoBlockOfSectors) {
    serve_cached("1M,sector=512", {"--seed", "1"});
    Client client(uri());
    write_pages(client, 'b');
    const std::string said = blkscope({"crash", "nbd0"});
    EXPECT_EQ(said.rfind("nbd0: power lost: 128 blocks in the cache: ", 0), 0u) << said;
    EXPECT_NE(said.find(", 0 are torn\n"), std::string::npos) << said;
    EXPECT_TRUE(has(sectors(), 'b'));
}

TEST_F(PowerFailure, RepeatsWithTheSeed) {
    const auto left = [&](const std::string& seed) {
        serve_cached("1M", {"--seed", seed});
        std::string found;
        for (int crash = 0; crash < 2; ++crash) {
            {
                Client client(uri());
                write_pages(client, 'x');
                write_pages(client, 'y');
            }
            found += blkscope({"crash", "nbd0"}) + sectors();
        }
        EXPECT_TRUE(logged("nbd0: crash-cache 1M, seed " + seed + "\n")) << server_->output();
        EXPECT_EQ(stop_server(), 0);
        return found;
    };
    const std::string first = left("7");
    EXPECT_EQ(left("7"), first);
    EXPECT_NE(left("8"), first);
}

// ---- The end of the server ----

TEST_F(PowerFailure, IsNoOrderlyEndWhichKeepsAll) {
    serve_cached("1M,ignore-flush");
    {
        Client client(uri());
        write_pages(client, 'z');
    }
    EXPECT_EQ(sectors_of_image(), all('\0'));
    EXPECT_EQ(stop_server(), 0);
    EXPECT_EQ(sectors_of_image(), all('z'));
}

TEST_F(PowerFailure, IsWhatAKilledServerHas) {
    serve_cached("1M");
    Client client(uri());
    write_pages(client, 'a', LIBNBD_CMD_FLAG_FUA);
    write_pages(client, 'z');
    server_->signal(SIGKILL);
    server_->wait();
    EXPECT_EQ(sectors_of_image(), all('a'));
}

// ---- The device afterwards ----

TEST_F(PowerFailure, LeavesTheDeviceWithItsInstanceAndItsCounters) {
    serve_cached("1M,sector=512", {"--seed", "5"});
    {
        Client client(uri());
        write_pages(client, 'a');
    }
    const uint64_t writes = read_io().writes;
    EXPECT_EQ(writes, pages);
    blkscope({"crash", "nbd0"});
    {
        Client client(uri());
        write_pages(client, 'b');
    }
    EXPECT_EQ(read_io().writes, writes + pages);
    const std::string listed = blkscope({"list", "-v"});
    EXPECT_NE(listed.find("crash-cache 1M,sector=512, seed 5\n"), std::string::npos) << listed;
}

// A master boot record with one partition, which a crash may lose.
TEST_F(PowerFailure, ShowsThePartitionsThatSurvive) {
    std::vector<char> record(sector);
    const std::array<uint8_t, 16> entry{0, 0, 0, 0, 0x83, 0, 0, 0, 64, 0, 0, 0, 128, 0, 0, 0};
    std::memcpy(record.data() + 446, entry.data(), entry.size());
    record[510] = 0x55;
    record[511] = static_cast<char>(0xaa);
    bool lost = false;
    bool kept = false;
    for (int seed = 1; seed < 40 && !(lost && kept); ++seed) {
        serve_cached("1M,sector=512", {"--seed", std::to_string(seed)});
        const auto listed = [&] {
            return succeed({IOSTAT_BINARY, "-xp"}).find("nbd0,1") != std::string::npos;
        };
        {
            Client client(uri());
            ASSERT_EQ(nbd_pwrite(client.get(), record.data(), record.size(), 0, 0), 0);
        }
        ASSERT_TRUE(eventually(listed));
        blkscope({"crash", "nbd0"});
        const bool there = listed();
        std::ifstream image(path("disk.img"), std::ios::binary);
        image.seekg(510);
        EXPECT_EQ(there, image.get() == 0x55);
        (there ? kept : lost) = true;
        ASSERT_EQ(stop_server(), 0);
    }
    EXPECT_TRUE(lost && kept);
}

// ---- Under load ----

/// Writes versions to pages by turns until its connection is closed. Each page is full of its
/// version. There are so many pages that a lost version is not soon replaced by a later one.
struct Writer {
    static constexpr size_t places = 64;

    uint64_t at = 0;
    uint32_t last = 0;  // the last version that was sent
    std::array<uint32_t, places> sent{};
    std::array<uint32_t, places> durable{};  // acknowledged with FUA, or by a flush
    std::atomic<bool> begun{false};          // since the last crash something is durable

    [[nodiscard]] uint64_t offset(size_t place) const { return at + place * page; }
    void run(const std::string& uri) {
        Client client(uri);
        // A flush makes these durable. A write that failed before the crash is not among them.
        std::array<uint32_t, places> acknowledged = durable;
        for (;;) {
            const size_t place = ++last % places;
            const std::vector<uint32_t> data(page / sizeof last, last);
            const bool forced = last % 5 == 0;
            sent.at(place) = last;
            if (nbd_pwrite(client.get(), data.data(), page, offset(place),
                           forced ? LIBNBD_CMD_FLAG_FUA : 0) < 0) {
                return;
            }
            acknowledged.at(place) = last;
            if (forced) durable.at(place) = last;
            if (last % 3 != 0) continue;
            if (nbd_flush(client.get(), 0) < 0) return;
            durable = acknowledged;
            begun = true;
        }
    }
    /// Each sector of a page must have one version, from the durable one to the last sent.
    void check(Client& client) {
        for (size_t place = 0; place < places; ++place) {
            std::vector<uint32_t> data(page / sizeof last);
            ASSERT_EQ(nbd_pread(client.get(), data.data(), page, offset(place), 0), 0);
            for (const uint32_t version : data) {
                ASSERT_GE(version, durable.at(place)) << place << " of " << last;
                ASSERT_LE(version, sent.at(place));
            }
        }
    }
};

class CrashUnderLoad : public PowerFailure {
  protected:
    /// Some crashes under writers, each with a connection of its own.
    void crash_under_load(int crashes) {
        std::array<Writer, 4> writers;
        for (uint64_t i = 0; i < writers.size(); ++i) {
            writers.at(i).at = i * Writer::places * page;
        }
        for (int crash = 0; crash < crashes; ++crash) {
            std::vector<std::thread> threads;
            for (Writer& writer : writers) {
                writer.begun = false;
                threads.emplace_back([&] { writer.run(uri()); });
            }
            EXPECT_TRUE(eventually([&] {
                return std::ranges::all_of(writers, [](Writer& each) { return each.begun.load(); });
            }));
            std::this_thread::sleep_for(50ms);
            blkscope({"crash", "nbd0"});
            for (std::thread& thread : threads) thread.join();
            Client client(uri());
            for (Writer& writer : writers) writer.check(client);
            if (HasFatalFailure()) return;
        }
        for (const Writer& writer : writers) EXPECT_GT(writer.durable.at(1), 0u);
    }
};

TEST_F(CrashUnderLoad, KeepsAllThatWasDurable) {
    serve_cached("1M", {"--workers", "3"});
    crash_under_load(8);
}

TEST_F(CrashUnderLoad, KeepsAllThatWasDurableWithACacheThatIsFull) {
    serve_cached("8K,sector=512", {"--workers", "2"});
    crash_under_load(4);
}

TEST_F(CrashUnderLoad, OfAModelledDiskEndsItsRequestsAtOnce) {
    serve_cached("1M", {"--model", "write=const:60s", "--limit", "write_iops=1"});
    Client client(uri());
    std::vector<char> data(page, 'm');
    for (int i = 0; i < 20; ++i) {
        ASSERT_GE(nbd_aio_pwrite(client.get(), data.data(), page, 0, nbd_completion_callback{}, 0),
                  0);
    }
    EXPECT_TRUE(eventually([&] { return read_io().wcnt + read_io().rcnt == 20; }));
    const auto since = Clock::now();
    blkscope({"crash", "nbd0"});
    EXPECT_LT(Clock::now() - since, 4s);
    // The model and the limit hold again.
    const std::string listed = blkscope({"list", "-v"});
    EXPECT_NE(listed.find("model write=const:60s, seed "), std::string::npos) << listed;
    EXPECT_NE(listed.find("limit write_iops=1\n"), std::string::npos) << listed;
    blkscope({"set", "nbd0", "model=write=const:300ms"});
    Client next(uri());
    const auto begun = Clock::now();
    EXPECT_EQ(next.try_write(0, page), 0);
    EXPECT_GE(Clock::now() - begun, 300ms);
}

TEST_F(CrashUnderLoad, EndsRequestsThatHang) {
    serve_cached("1M", {"--fault", "read:hang", "--fault", "flush:hang"});
    Client client(uri());
    std::vector<char> data(page);
    ASSERT_GE(nbd_aio_pread(client.get(), data.data(), page, 0, nbd_completion_callback{}, 0), 0);
    ASSERT_GE(nbd_aio_flush(client.get(), nbd_completion_callback{}, 0), 0);
    EXPECT_TRUE(eventually([&] { return read_io().rcnt == 1; }));
    blkscope({"crash", "nbd0"});
    EXPECT_EQ(read_io().rcnt, 0u);
}

// Each version goes to one export and then, if that was durable, to the other.
TEST_F(PowerFailure, OfAllExportsIsAtOneMoment) {
    make_image("a.img", image_bytes);
    make_image("b.img", image_bytes);
    serve_with({"a=" + path("a.img"), "b=" + path("b.img"), "plain=memory:1M", "--unix", socket_,
                "--crash-cache", "1M", "--crash-cache", "plain@none"});
    uint32_t version = 0;
    for (int crash = 0; crash < 4; ++crash) {
        std::atomic<bool> begun{false};
        std::thread writer([&] {
            Client a(uri("a"));
            Client b(uri("b"));
            for (++version;; ++version) {
                std::vector<uint32_t> data(page / sizeof version, version);
                if (nbd_pwrite(a.get(), data.data(), page, 0, LIBNBD_CMD_FLAG_FUA) < 0) return;
                if (nbd_pwrite(b.get(), data.data(), page, 0, LIBNBD_CMD_FLAG_FUA) < 0) return;
                begun = true;
            }
        });
        Client plain(uri("plain"));
        EXPECT_TRUE(eventually([&] { return begun.load(); }));
        const std::string said = blkscope({"crash", "--all"});
        writer.join();
        EXPECT_NE(plain.try_read(0, page), 0);
        EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 3) << said;
        EXPECT_NE(said.find("nbd2: power lost: no crash cache"), std::string::npos) << said;
        uint32_t of_a = 0;
        uint32_t of_b = 0;
        Client a(uri("a"));
        Client b(uri("b"));
        ASSERT_EQ(nbd_pread(a.get(), &of_a, sizeof of_a, 0, 0), 0);
        ASSERT_EQ(nbd_pread(b.get(), &of_b, sizeof of_b, 0, 0), 0);
        EXPECT_TRUE(of_a == of_b || of_a == of_b + 1) << of_a << " and " << of_b;
    }
}

TEST_F(PowerFailure, OfAllServersNeedsOneWithACrashCache) {
    serve("memory:1M");
    const auto other = serve_beside("memory:1M", "other.sock", {"--crash-cache", "1M"});
    Client first(uri());
    Client second(uri_at("other.sock"));
    const std::string said = blkscope({"crash", "--all"});
    EXPECT_EQ(said.rfind("nbd1: power lost: 0 blocks", 0), 0u) << said;
    EXPECT_EQ(first.try_read(0, page), 0);  // of a server without a crash cache
    EXPECT_NE(second.try_read(0, page), 0);
}

// Eight clients take all places at the control socket of the server that is asked first.
TEST_F(PowerFailure, OfAllServersIsToldOfThoseThatLostItWhenOneRefuses) {
    const auto busy = serve_beside("memory:1M", "busy.sock", {"--crash-cache", "1M"});
    serve("memory:1M", {"--crash-cache", "1M"});
    std::vector<std::unique_ptr<RawClient>> idle;
    for (int i = 0; i < 8; ++i) {
        idle.push_back(std::make_unique<RawClient>(path(std::to_string(busy->pid()) + ".ctl")));
    }
    const CommandResult result = run({BLKSCOPE_BINARY, "crash", "--all"});
    EXPECT_EQ(result.status, 1);
    EXPECT_NE(result.output.find("too many requests"), std::string::npos) << result.output;
    EXPECT_NE(result.output.find("nbd1: power lost: 0 blocks"), std::string::npos) << result.output;
}

// A server that cannot be asked would keep its power.
TEST_F(PowerFailure, OfAllServersNeedsADescriptorForEach) {
    serve_cached("1M");
    Client client(uri());
    write_pages(client, 'a');
    const CommandResult result =
        run({"sh", "-c", "ulimit -n 8; exec " BLKSCOPE_BINARY " crash --all"});
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.output.rfind("blkscope: read kstats: Too many open files", 0), 0u)
        << result.output;
    EXPECT_EQ(client.read(0, page), std::vector<char>(page, 'a'));
    EXPECT_FALSE(logged("power lost"));
}

// ---- Bad input ----

TEST_F(PowerFailure, RefusesBadInputInOneLine) {
    const std::string image = make_image("disk.img", image_bytes);
    for (const char* spec : {"", "0", "-1", "1X", "2K", "1M,sector=4096", "1M,ignore-fua", "1M,",
                             "other@1M", "1M,ignore-flush,ignore-flush"}) {
        refused({"serve", image, "--unix", socket_, "--crash-cache", spec}, 2);
    }
    refused({"serve", image, "--unix", socket_, "--crash-cache", "1M", "--crash-cache", "2M"}, 2);
    EXPECT_EQ(refused({"serve", image, "--unix", socket_, "--crash-cache", "1M", "--direct"}, 2),
              "blkscope: crash-cache: it cannot be in front of a direct backing\n");
    EXPECT_EQ(
        refused({"serve", image, "--unix", socket_, "--crash-cache", "1M", "--force-shared"}, 2),
        "blkscope: disk.img: crash-cache and force-shared exclude each other\n");
    configure(R"({"name": "d", "backing": "memory:1M", "crash-cache": "1M,sectors"})");
    const std::string said = refused({"serve", "--config", path("lab.json")}, 2);
    EXPECT_NE(said.find("exports[0].crash-cache: "), std::string::npos) << said;
    serve("memory:1M");
    Client client(uri());
    EXPECT_EQ(refused({"crash", "nbd0"}, 1),
              "blkscope: nbd0 has no crash cache; see 'serve --crash-cache'\n");
    EXPECT_EQ(refused({"crash", "--all"}, 1), "blkscope: crash: no device has a crash cache\n");
    EXPECT_NE(refused({"crash", "nbd7"}, 1).find("there is no device"), std::string::npos);
    refused({"crash"}, 2);
    refused({"crash", "nbd0", "--all"}, 2);
    refused({"crash", "nbd0", "nbd1"}, 2);
    EXPECT_EQ(client.try_read(0, page), 0);
}

TEST_F(PowerFailure, NeedsTheOnlyWriterOfItsFile) {
    const std::string image = make_image("disk.img", image_bytes);
    for (const char* cache : {"a@1M", "b@1M", "1M"}) {
        const std::string said = refused(
            {"serve", "a=" + image, "b=" + image, "--unix", socket_, "--crash-cache", cache}, 1);
        EXPECT_NE(said.find("this server writes to it already"), std::string::npos) << said;
    }
    // A reader sees the durable data.
    configure(R"({"name": "a", "backing": ")" + image + R"(", "crash-cache": "1M"},
        {"name": "durable", "backing": ")" +
              image + R"(", "read-only": true})");
    serve_with({"--config", path("lab.json")});
    Client cached(uri("a"));
    Client durable(uri("durable"));
    EXPECT_EQ(cached.try_write(0, page, 'c'), 0);
    EXPECT_EQ(durable.read(0, 1), std::vector<char>(1, '\0'));
    flush(cached);
    EXPECT_EQ(durable.read(0, 1), std::vector<char>(1, 'c'));
}

// The new export would write to the file beside the old one.
TEST_F(PowerFailure, IsNotTakenFromAnExportByAReload) {
    const std::string image = make_image("disk.img", image_bytes);
    const std::string exp = R"({"name": "a", "backing": ")" + image + R"(")";
    configure(exp + R"(, "crash-cache": "1M"})");
    serve_with({"--config", path("lab.json")});
    Client client(uri("a"));
    EXPECT_EQ(client.try_write(0, page, 'c'), 0);
    configure(exp + R"(, "crash-cache": "2M"})");
    reload(
        "this server writes to it already, and a crash cache must be the only one that writes; "
        "everything stays as it was");
    EXPECT_EQ(client.read(0, 1), std::vector<char>(1, 'c'));
    configure(exp + R"(, "crash-cache": "1M", "model": "read=const:1ms"})");
    reload("0 replaced, 0 removed, 1 changed in place");
    EXPECT_EQ(client.read(0, 1), std::vector<char>(1, 'c'));
}

}  // namespace
}  // namespace blkscope::test
