// A loss of power when something fails: a worker that does not answer, a cache without memory.
#include "driver/nbd/server/power_loss.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "../blockdev/scripted_backing.hpp"
#include "../temporary_folder.hpp"
#include "blockdev/backing/crash_backing.hpp"
#include "driver/nbd/server/export.hpp"
#include "driver/nbd/server/workers.hpp"
#include "driver/nbd/transmission/worker.hpp"
#include "parser_driver.hpp"

namespace blkscope::nbd {
namespace {

constexpr uint64_t disk_bytes = uint64_t{1} << 20;
constexpr size_t reply_head_bytes = 16;
constexpr uint32_t sector = 512;

/// A backing without data. Its describe() calls `described`, its write_now() `writing`.
class Hooked final : public Backing {
  public:
    struct Hooks {
        std::function<void()> described = [] {};
        std::function<void()> writing = [] {};
    };
    explicit Hooked(const Hooks& hooks) : hooks_(hooks) {}

    [[nodiscard]] std::string describe() const override {
        hooks_.described();
        return "hooked";
    }
    [[nodiscard]] uint64_t size_bytes() const override { return disk_bytes; }
    void attach(Ring&) override {}
    [[nodiscard]] bool shareable() const override { return true; }
    [[nodiscard]] std::unique_ptr<Backing> another() const override {
        return std::make_unique<Hooked>(hooks_);
    }
    std::optional<int32_t> prepare(Buf& buf) override { return static_cast<int32_t>(buf.bcount); }
    bool read_now(uint64_t, std::span<std::byte>) override { return true; }
    bool write_now(uint64_t, std::span<const std::byte>) override {
        hooks_.writing();
        return true;
    }

  private:
    const Hooks& hooks_;
};

/// A disk that does not answer a read until the test does.
class HeldReads final : public ScriptedBacking {
  public:
    using ScriptedBacking::ScriptedBacking;
    std::optional<int32_t> prepare(Buf& buf) override {
        return buf.op == Buf::Op::read ? ScriptedBacking::prepare(buf) : 0;
    }
};

/// Workers in the thread of the test. Whoever waits for them gets the times of the plan, and they do
/// all that they were asked in those steps in which they work.
class OwnTime {
  public:
    struct Step {
        int ms;
        bool works = false;
    };
    std::deque<Step> plan;

    WorkerSource source() {
        return {.make =
                    [this](bool busy_wait) {
                        auto worker = std::make_unique<Worker>(busy_wait);
                        workers_.push_back(worker.get());
                        return worker;
                    },
                .start = [](Worker& worker) { worker.begin(); },
                .go_on = [this] { return go_on(); }};
    }
    void turn() {
        for (Worker* const worker : workers_) turn(*worker);
    }
    /// After stop().
    void finish() {
        for (Worker* const worker : workers_) {
            while (!worker->finished()) turn(*worker);
        }
    }

  private:
    static void turn(Worker& worker) {
        worker.wait();
        worker.turn();
    }
    WorkerSource::Time go_on() {
        if (plan.empty()) {
            ADD_FAILURE() << "it waits after the last step";
            return WorkerSource::Time::max();
        }
        const Step step = plan.front();
        plan.pop_front();
        for (Worker* const worker : workers_) {
            if (!step.works) break;
            const auto done = worker->ask([](Sessions&) { return true; });
            while (done.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
                turn(*worker);
            }
        }
        return WorkerSource::Time(std::chrono::milliseconds(step.ms));
    }

    std::vector<Worker*> workers_;
};

class PowerLossFailure : public ::testing::Test {
  protected:
    static Workers::Calls calls() {
        return {.connection_ended = [] {}, .log = [](std::string_view) {}};
    }
    [[nodiscard]] ExportOptions hooked(const Hooked::Hooks& hooks) const {
        return {.name = "hooked",
                .description = {},
                .backing = std::make_unique<Hooked>(hooks),
                .instance = kstat::claim_instance("nbd")};
    }
    /// The error of one read by a new client; nothing if its connection is closed instead.
    static std::optional<int> read_error(Export& exp) {
        std::array<int, 2> sockets{};
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);
        exp.worker.hand_over(exp, {}, sockets[1], nullptr);
        return read_error(sockets[0]);
    }
    static void send_read(int client) {
        std::string stream;
        testing::append_request(stream, ReplyForm::simple,
                                {.type = Command::read, .length = sector});
        EXPECT_EQ(send(client, stream.data(), stream.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(stream.size()));
    }
    static std::optional<int> read_error(int client) {
        send_read(client);
        std::array<unsigned char, reply_head_bytes> reply{};
        const ssize_t bytes = recv(client, reply.data(), reply.size(), MSG_WAITALL);
        close(client);
        if (bytes != static_cast<ssize_t>(reply.size())) return std::nullopt;
        return reply[7];
    }

    const test::RunFolder folder_;
};

TEST_F(PowerLossFailure, OfAWorkerThatIsStuckClosesNoConnectionLater) {
    Workers workers({.count_max = 1, .busy_wait = false}, {}, calls());
    workers.start();
    const Hooked::Hooks none;
    auto exp = workers.make_export(hooked(none));
    exp->serial = 1;
    std::promise<void> begun;
    std::promise<void> go_on;
    Hooked::Hooks hooks;
    hooks.described = [&, first = true]() mutable {
        if (!std::exchange(first, false)) return;
        begun.set_value();
        go_on.get_future().wait();
    };
    std::unique_ptr<Export> other;
    std::thread maker([&] { other = workers.make_export(hooked(hooks)); });
    begun.get_future().wait();
    EXPECT_EQ(workers.cut_clients({1}, std::chrono::milliseconds(20)), Cut::stuck);
    std::array<int, 2> sockets{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);
    exp->worker.hand_over(*exp, {}, sockets[1], nullptr);
    go_on.set_value();
    EXPECT_EQ(read_error(sockets[0]), 0);
    maker.join();
    workers.close_export(std::move(exp));
    workers.close_export(std::move(other));
    EXPECT_TRUE(workers.stop({}));
}

// Its connections are closed, and only its requests have not ended.
TEST_F(PowerLossFailure, IsNotBlamedOnAWorkerThatHasAnsweredBefore) {
    OwnTime time;
    Workers workers({.count_max = 1, .busy_wait = false}, time.source(), calls());
    workers.start();
    auto backing = std::make_unique<HeldReads>(disk_bytes);
    HeldReads& disk = *backing;
    auto exp = workers.make_export({.name = "held",
                                    .description = {},
                                    .backing = std::move(backing),
                                    .instance = kstat::claim_instance("nbd")});
    exp->serial = 1;
    std::array<int, 2> sockets{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);
    exp->worker.hand_over(*exp, {}, sockets[1], nullptr);
    send_read(sockets[0]);
    while (disk.held.empty()) time.turn();
    time.plan = {{.ms = 0}, {.ms = 0, .works = true}, {.ms = 999}, {.ms = 1000}};
    EXPECT_EQ(workers.cut_clients({1}, std::chrono::seconds(1)), Cut::requests);
    char byte = 0;
    EXPECT_EQ(recv(sockets[0], &byte, 1, MSG_DONTWAIT), 0);
    close(sockets[0]);
    disk.finish_first(sector);
    workers.close_export(std::move(exp));
    EXPECT_TRUE(workers.stop({}));
    time.finish();
}

TEST_F(PowerLossFailure, GivesEachWorkerTheWholeTime) {
    OwnTime time;
    Workers workers({.count_max = 2, .busy_wait = false}, time.source(), calls());
    workers.start();
    const Hooked::Hooks none;
    std::array<std::unique_ptr<Export>, 2> exports{workers.make_export(hooked(none)),
                                                   workers.make_export(hooked(none))};
    ASSERT_NE(&exports[0]->worker, &exports[1]->worker);
    time.plan = {{.ms = 0}, {.ms = 999, .works = true}, {.ms = 1000}};
    EXPECT_EQ(workers.cut_clients({1, 2}, std::chrono::seconds(1)), Cut::none);
    for (auto& exp : exports) workers.close_export(std::move(exp));
    EXPECT_TRUE(workers.stop({}));
    time.finish();
}

TEST_F(PowerLossFailure, LeavesNoDeviceWithoutPower) {
    Hooked::Hooks hooks;
    auto backing = std::make_unique<CrashBacking>(std::make_unique<Hooked>(hooks),
                                                  model::CrashCacheOptions::parse("1M"));
    const auto cache = backing->cache();
    ExportOptions options = hooked(hooks);
    options.backing = std::move(backing);
    options.crash_cache = cache;
    options.behaviour.faults.push_back(model::FaultRule::parse("read:error=EIO", disk_bytes, {}));
    Workers workers({.count_max = 1, .busy_wait = false}, {}, calls());
    workers.start();
    auto exp = workers.make_export(std::move(options));
    const std::array<std::byte, 4096> data{};
    for (uint64_t at = 0; at < disk_bytes / 2; at += data.size()) {
        ASSERT_TRUE(cache->write(at, data, false));
    }
    hooks.writing = [] { throw std::bad_alloc(); };
    EXPECT_THROW(lose_power(workers, {exp.get()}), std::bad_alloc);
    hooks.writing = [] {};
    EXPECT_EQ(read_error(*exp), EIO);  // without power no fault concerns a request
    workers.close_export(std::move(exp));
    EXPECT_TRUE(workers.stop({}));
}

}  // namespace
}  // namespace blkscope::nbd
