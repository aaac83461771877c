// The kstats of a real server beside the figures that fio measured. The counts are the same, and
// the laws that tie queue lengths, times and rates together hold.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "served_device.hpp"

namespace blkscope::test {
namespace {

/// The work of one fio job, as fio measured it.
struct Measured {
    uint64_t reads;
    uint64_t writes;
    uint64_t nread;
    uint64_t nwritten;
    uint64_t flushes;
    double latency_ns;  // mean, of reads and writes
};

/// The IO kstat at one moment.
struct Sample {
    hrtime_t snaptime;
    kstat_io_t io;
};

/// A reader that keeps its chain open, as iostat does.
class Reader {
  public:
    Reader()
        : chain_(kstat_open(), kstat_close), ksp_(kstat_lookup(chain_.get(), nullptr, -1, "nbd0")) {
        if (ksp_ == nullptr) throw std::runtime_error("no kstat nbd0");
    }

    Sample read() {
        Sample sample{};
        EXPECT_GE(kstat_read(chain_.get(), ksp_, &sample.io), 0);
        sample.snaptime = ksp_->ks_snaptime;
        return sample;
    }

  private:
    std::unique_ptr<kstat_ctl_t, int (*)(kstat_ctl_t*)> chain_;
    kstat_t* ksp_;
};

class Accounting : public ServedDevice {
  protected:
    std::vector<std::string> fio(const std::vector<std::string>& job) {
        std::vector<std::string> arguments{
            "fio",           "--name=job",    "--ioengine=nbd",
            "--thread",      "--bs=4k",       "--output-format=json",
            "--size=16M",    "--norandommap", "--output=" + path("fio.json"),
            "--uri=" + uri()};
        arguments.insert(arguments.end(), job.begin(), job.end());
        return arguments;
    }

    Measured measured() {
        std::ifstream in(path("fio.json"));
        in.ignore(std::numeric_limits<std::streamsize>::max(), '{');  // fio says other things first
        in.unget();
        const auto job = nlohmann::json::parse(in)["jobs"][0];
        const auto& read = job["read"];
        const auto& write = job["write"];
        const double read_ns =
            read["total_ios"].get<double>() * read["lat_ns"]["mean"].get<double>();
        const double write_ns =
            write["total_ios"].get<double>() * write["lat_ns"]["mean"].get<double>();
        const uint64_t reads = read["total_ios"];
        const uint64_t writes = write["total_ios"];
        return {reads,
                writes,
                read["io_bytes"],
                write["io_bytes"],
                job["sync"]["total_ios"],
                (read_ns + write_ns) / static_cast<double>(reads + writes)};
    }

    /// Runs a job to its end between two samples.
    void run_between_samples(const std::vector<std::string>& job) {
        Reader reader;
        before_ = reader.read();
        succeed(fio(job));
        after_ = reader.read();
        fio_ = measured();
    }

    [[nodiscard]] hrtime_t elapsed() const { return after_.snaptime - before_.snaptime; }
    [[nodiscard]] hrtime_t waited() const { return after_.io.wlentime - before_.io.wlentime; }
    [[nodiscard]] hrtime_t ran() const { return after_.io.rlentime - before_.io.rlentime; }
    [[nodiscard]] hrtime_t waiting() const { return after_.io.wtime - before_.io.wtime; }
    [[nodiscard]] hrtime_t running() const { return after_.io.rtime - before_.io.rtime; }

    Sample before_{};
    Sample after_{};
    Measured fio_{};
};

TEST_F(Accounting, CountsExactlyWhatFioSent) {
    NEEDS("fio");
    const std::string backings[] = {make_image("disk.img", 16 * mib), "memory:16M"};
    for (const std::string& backing : backings) {
        serve(backing);
        run_between_samples({"--rw=randrw", "--rwmixread=70", "--bsrange=512-64k", "--iodepth=16",
                             "--number_ios=3000", "--io_size=1G"});
        EXPECT_EQ(fio_.reads + fio_.writes, 3000u);
        EXPECT_EQ(after_.io.reads - before_.io.reads, fio_.reads);
        EXPECT_EQ(after_.io.writes - before_.io.writes, fio_.writes);
        EXPECT_EQ(after_.io.nread - before_.io.nread, fio_.nread);
        EXPECT_EQ(after_.io.nwritten - before_.io.nwritten, fio_.nwritten);
        EXPECT_EQ(stop_server(), 0);
    }
}

TEST_F(Accounting, CountsFlushesAndTrimsApartFromTheQueues) {
    NEEDS("fio");
    serve(make_image("disk.img", 16 * mib));
    succeed(fio({"--rw=randwrite", "--iodepth=4", "--fsync=16", "--number_ios=640"}));
    EXPECT_EQ(read_command_count("write_requests"), 640u);
    EXPECT_EQ(read_command_count("flush_requests"), measured().flushes);
    EXPECT_GE(measured().flushes, 640u / 16 - 1);
    const kstat_io_t before = read_io();
    EXPECT_EQ(before.writes, 640u);
    succeed(fio({"--rw=randtrim", "--bs=64k", "--iodepth=4", "--number_ios=100"}));
    EXPECT_EQ(read_command_count("trim_requests"), 100u);
    EXPECT_EQ(read_command_count("trim_bytes"), uint64_t{100} << 16);
    const kstat_io_t after = read_io();
    EXPECT_EQ(after.reads, before.reads);
    EXPECT_EQ(after.writes, before.writes);
    EXPECT_EQ(after.nwritten, before.nwritten);
    EXPECT_EQ(after.rlentime, before.rlentime);
}

// A closed loop of N requests: no more than N are in the queues. The time that a request spends in
// them is a part of the time that fio waits for it.
TEST_F(Accounting, QueuesHoldNoMoreThanFioSentAndNoLongerThanItWaited) {
    NEEDS("fio");
    constexpr int depth = 32;
    serve(make_image("disk.img", 16 * mib), {"--queue-depth", "8"});
    run_between_samples({"--rw=randrw", "--iodepth=32", "--number_ios=20000", "--io_size=1G"});
    EXPECT_GT(ran(), 0);
    EXPECT_GT(waited(), 0);
    EXPECT_LE(waited() + ran(), depth * elapsed());
    const auto requests = static_cast<double>(fio_.reads + fio_.writes);
    EXPECT_LE(static_cast<double>(waited() + ran()) / requests, fio_.latency_ns);
    // The mean lengths while busy lie between one and what the queue can hold.
    EXPECT_GE(ran(), running());
    EXPECT_LE(ran(), 8 * running());
    EXPECT_GE(waited(), waiting());
    EXPECT_LE(waited(), depth * waiting());
}

TEST_F(Accounting, NeitherQueueIsBusyLongerThanTheTimeThatPassed) {
    NEEDS("fio");
    serve(make_image("disk.img", 16 * mib), {"--queue-depth", "1"});
    run_between_samples({"--rw=randread", "--iodepth=8", "--number_ios=10000", "--io_size=1G"});
    EXPECT_GT(running(), 0);
    EXPECT_LE(running(), elapsed());
    EXPECT_LE(waiting(), elapsed());
}

// With room for one, actv is %b, and seven of eight stand in front of it.
TEST_F(Accounting, AtDepthOneTheRunQueueIsItsBusyTimeAndTheRestWaits) {
    NEEDS("fio");
    serve(make_image("disk.img", 16 * mib), {"--queue-depth", "1"});
    run_between_samples(
        {"--rw=randread", "--bs=32k", "--iodepth=8", "--number_ios=5000", "--io_size=1G"});
    EXPECT_EQ(ran(), running());
    EXPECT_GT(waited(), ran());
    EXPECT_LE(waited(), 8 * elapsed());
}

TEST_F(Accounting, OneRequestAtATimeNeverWaits) {
    NEEDS("fio");
    serve(make_image("disk.img", 16 * mib));
    run_between_samples({"--rw=randread", "--iodepth=1", "--number_ios=2000"});
    EXPECT_EQ(ran(), running());
    EXPECT_LE(ran(), elapsed());
    EXPECT_LE(static_cast<double>(waited() + ran()) / 2000, fio_.latency_ns);
    EXPECT_LT(waited(), ran());
}

TEST_F(Accounting, FromIdleToIdleTheQueuesAreEmptyAndStandStill) {
    NEEDS("fio");
    serve("memory:16M", {"--queue-depth", "4"});
    run_between_samples({"--rw=randrw", "--iodepth=32", "--number_ios=5000", "--io_size=1G"});
    EXPECT_EQ(before_.io.wcnt + before_.io.rcnt, 0u);
    EXPECT_EQ(after_.io.wcnt + after_.io.rcnt, 0u);
    const Sample later = Reader().read();
    EXPECT_GT(later.snaptime, after_.snaptime);
    EXPECT_EQ(later.io.wtime, after_.io.wtime);
    EXPECT_EQ(later.io.wlentime, after_.io.wlentime);
    EXPECT_EQ(later.io.rtime, after_.io.rtime);
    EXPECT_EQ(later.io.rlentime, after_.io.rlentime);
}

void expect_never_backwards(const Sample& last, const Sample& now) {
    EXPECT_GE(now.snaptime, last.snaptime);
    EXPECT_GE(now.io.reads, last.io.reads);
    EXPECT_GE(now.io.writes, last.io.writes);
    EXPECT_GE(now.io.nread, last.io.nread);
    EXPECT_GE(now.io.nwritten, last.io.nwritten);
    EXPECT_GE(now.io.wtime, last.io.wtime);
    EXPECT_GE(now.io.wlentime, last.io.wlentime);
    EXPECT_GE(now.io.rtime, last.io.rtime);
    EXPECT_GE(now.io.rlentime, last.io.rlentime);
}

// Each reading is of one moment: torn ones would show here within seconds.
TEST_F(Accounting, NoReaderEverSeesTimeOrCountersGoBackwardsUnderLoad) {
    NEEDS("fio");
    constexpr uint_t depth = 8;
    serve(make_image("disk.img", 16 * mib), {"--queue-depth", std::to_string(depth)});
    Process load(fio({"--rw=randrw", "--iodepth=32", "--time_based", "--runtime=2"}),
                 path("load.log"));
    Reader reader;
    Sample last = reader.read();
    int samples = 0;
    for (; load.running() && !HasFailure(); ++samples) {
        const Sample now = reader.read();
        const hrtime_t rounding_ns = 1;
        const hrtime_t passed = now.snaptime - last.snaptime + rounding_ns;
        expect_never_backwards(last, now);
        EXPECT_LE(now.io.rtime - last.io.rtime, passed);
        EXPECT_LE(now.io.wtime - last.io.wtime, passed);
        EXPECT_LE(now.io.rlentime - last.io.rlentime, depth * passed);
        EXPECT_LE(now.io.rcnt, depth);
        EXPECT_LE(now.io.wcnt + now.io.rcnt, 32u);
        last = now;
    }
    EXPECT_EQ(load.wait(), 0) << load.output();
    EXPECT_GT(samples, 100);
    EXPECT_GT(last.io.rlentime, 0);
}

}  // namespace
}  // namespace blkscope::test
