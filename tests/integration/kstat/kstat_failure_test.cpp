// Providers that die, stop, or are none: a reader goes on, in bounded time.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.hpp"
#include "child_process.hpp"

namespace blkscope {

namespace {

using KstatFailure = KstatProcesses;

TEST_F(KstatFailure, AKilledProviderIsGoneAtOnceAndItsSuccessorIsFound) {
    ReadyChild first(provide_counter("one"));
    open();
    const kid_t number = lookup("one")->ks_kid;
    first.kill();
    EXPECT_LT(milliseconds([&] { EXPECT_EQ(kstat_read(kc, lookup("one"), nullptr), -1); }), 500);
    EXPECT_EQ(errno, ENXIO);

    const ReadyChild second(provide_counter("one"));
    EXPECT_NE(kstat_chain_update(kc), 0);
    ASSERT_NE(lookup("one"), nullptr);
    EXPECT_GT(lookup("one")->ks_kid, number);
    EXPECT_EQ(kstat_read(kc, lookup("one"), nullptr), kc->kc_chain_id);
}

int die(kstat_t*, int) {
    raise(SIGKILL);
    return 0;
}
void provide_death(const Line& line) {
    kstat_t* const ksp = kstat_create("dies", 0, "d", "misc", KSTAT_TYPE_RAW, 4, 0);
    ksp->ks_update = die;
    kstat_install(ksp);
    take_turns(line);
}

TEST_F(KstatFailure, AProviderMayDieInTheMiddleOfARead) {
    const ChildProcess healthy(provide_counter("one"));
    const ChildProcess mortal(provide_death);
    ASSERT_EQ(healthy.line().hear() + mortal.line().hear(), 2 * 'r');
    open();
    EXPECT_EQ(kstat_read(kc, lookup("dies"), nullptr), -1);
    EXPECT_EQ(errno, ENXIO);
    EXPECT_NE(kstat_read(kc, lookup("one"), nullptr), -1);
    EXPECT_NE(kstat_chain_update(kc), 0);
    EXPECT_EQ(lookup("dies"), nullptr);
}

void provide_hundred(const Line& line) {
    for (int i = 0; i < 100; ++i) {
        kstat_install(kstat_create("many", i, nullptr, "misc", KSTAT_TYPE_RAW, 4, 0));
    }
    take_turns(line);
}

TEST_F(KstatFailure, AStoppedProviderCostsOneWaitAndNotOnePerKstat) {
    const ReadyChild child(provide_hundred);
    open();
    const kstat_t* const place = lookup("many");
    child.stop();
    const double spent = milliseconds([&] {
        for (int i = 0; i < 100; ++i) {
            EXPECT_EQ(kstat_read(kc, kstat_lookup(kc, "many", i, nullptr), nullptr), -1);
            EXPECT_EQ(errno, ENXIO);
        }
        for (int i = 0; i < 5; ++i) EXPECT_EQ(kstat_chain_update(kc), 0);
    });
    EXPECT_LT(spent, 3'000);

    child.signal(SIGCONT);
    EXPECT_TRUE(eventually([&] {
        kstat_chain_update(kc);
        return kstat_read(kc, lookup("many"), nullptr) != -1;
    }));
    EXPECT_EQ(lookup("many"), place);  // the kstat was never removed
}

TEST_F(KstatFailure, OpeningMeetsAllStoppedProvidersInOneWait) {
    const ChildProcess one(provide_counter("one"));
    const ChildProcess two(provide_counter("two"));
    const ChildProcess three(provide_counter("three"));
    for (const ChildProcess* child : {&one, &two, &three}) ASSERT_EQ(child->line().hear(), 'r');
    one.stop();
    two.stop();
    EXPECT_LT(milliseconds([&] { open(); }), 1'900);
    EXPECT_EQ(lookup("one"), nullptr);
    EXPECT_NE(kstat_read(kc, lookup("three"), nullptr), -1);
    one.signal(SIGCONT);
    EXPECT_TRUE(eventually([&] {
        kstat_chain_update(kc);
        return lookup("one") != nullptr;
    }));
    EXPECT_NE(kstat_read(kc, lookup("one"), nullptr), -1);
}

// A provider of one NAMED kstat one:0:number.
void provide_number(const Line& line) {
    kstat_t* const ksp = kstat_create("one", 0, "number", "misc", KSTAT_TYPE_NAMED, 1, 0);
    kstat_named_init(KSTAT_NAMED_PTR(ksp), "value", KSTAT_DATA_UINT64);
    kstat_install(ksp);
    take_turns(line);
}

// A wait for a silent provider is never shorter. Without a wait, one try of several is shorter on a
// busy machine, too.
constexpr double patience_ms = 1'000;

// Ctrl-Z at a server must not slow down every command of every reader.
TEST_F(KstatFailure, StoppedProvidersCostHardlyAnyTime) {
    const ReadyChild running(provide_number);
    std::vector<std::unique_ptr<ChildProcess>> stopped;
    for (int i = 0; i < 5; ++i) {
        stopped.push_back(std::make_unique<ChildProcess>(provide_counter("two")));
        ASSERT_EQ(stopped.back()->line().hear(), 'r');
        stopped.back()->stop();
    }
    const std::string command = std::string(KSTAT_COMMAND) + " -p -m one 2>/dev/null >/dev/null";
    EXPECT_TRUE(eventually([&] {
        return milliseconds([&] { EXPECT_EQ(std::system(command.c_str()), 0); }) < patience_ms;
    }));
    // A process that was stopped later is found as soon.
    open();
    const auto is_read = [&] {
        kstat_chain_update(kc);
        kstat_t* const ksp = lookup("two");
        return ksp != nullptr && kstat_read(kc, ksp, nullptr) != -1;
    };
    EXPECT_TRUE(eventually([&] {
        stopped.front()->signal(SIGCONT);
        if (!eventually(is_read)) return false;
        stopped.front()->stop();
        return milliseconds([&] {
                   EXPECT_EQ(kstat_read(kc, lookup("two"), nullptr), -1);
                   EXPECT_EQ(errno, ENXIO);
               }) < patience_ms;
    }));
}

// A job whose processor time is limited is stopped again and again, for a moment each.
TEST_F(KstatFailure, AProviderThatIsStoppedForAMomentIsWaitedFor) {
    const ReadyChild provider(provide_counter("one"));
    open();
    EXPECT_TRUE(eventually([&] {
        kstat_chain_update(kc);
        kstat_t* const ksp = lookup("one");
        if (ksp == nullptr) return false;
        provider.stop();
        std::thread goes_on([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(60));
            provider.signal(SIGCONT);
        });
        bool was_read = false;
        const double waited_ms =
            milliseconds([&] { was_read = kstat_read(kc, ksp, nullptr) != -1; });
        goes_on.join();
        // On a slow machine the moment may be longer than a reader waits.
        EXPECT_TRUE(was_read || waited_ms >= 200) << waited_ms;
        return was_read;
    }));
}

// A process that listens on a provider's socket without being a provider.
void impersonate(const std::string& directory, const Line& line, unsigned seed) {
    const int listener = listen_as_provider(directory, line);
    std::mt19937 random(seed);
    for (;;) {
        const int peer = accept(listener, nullptr, nullptr);
        char noise[4096];
        for (char& byte : noise) byte = static_cast<char>(random() % (seed % 2 == 0 ? 256 : 2));
        send(peer, noise, sizeof noise, MSG_NOSIGNAL);
        close(peer);
    }
}

TEST_F(KstatFailure, GarbageOnASocketIsSurvivedAndTheOthersAreRead) {
    const ChildProcess healthy(provide_counter("one"));
    const ChildProcess noise([&](const Line& line) { impersonate(directory, line, 2); });
    const ChildProcess small_numbers([&](const Line& line) { impersonate(directory, line, 3); });
    for (const ChildProcess* child : {&healthy, &noise, &small_numbers}) {
        ASSERT_EQ(child->line().hear(), 'r');
    }
    EXPECT_LT(milliseconds([&] { open(); }), 2'500);
    for (int i = 0; i < 20; ++i) EXPECT_NE(kstat_chain_update(kc), -1);
    EXPECT_NE(kstat_read(kc, lookup("one"), nullptr), -1);
}

TEST_F(KstatFailure, ADeadProvidersSocketIsIgnoredAndRemovedByReaders) {
    ReadyChild dead(provide_counter("one"));
    const std::filesystem::path left = std::filesystem::path(directory) / socket_of(dead.pid());
    dead.kill();
    EXPECT_TRUE(std::filesystem::exists(left));
    open();
    EXPECT_EQ(lookup("one"), nullptr);
    EXPECT_FALSE(std::filesystem::exists(left));
}

TEST_F(KstatFailure, AReaderRemovesNoSocketOfAnotherUser) {
    if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root can become somebody else";
    ASSERT_EQ(chmod(directory.c_str(), 0777), 0);
    ReadyChild dead(provide_counter("one"));
    const std::filesystem::path left = std::filesystem::path(directory) / socket_of(dead.pid());
    dead.kill();
    const ChildProcess user([](const Line& line) {
        if (setuid(65534) != 0) return;
        kstat_ctl_t* const chain = kstat_open();
        line.say(chain != nullptr ? 'o' : '-');
        kstat_close(chain);
    });
    ASSERT_EQ(user.line().hear(), 'o');
    EXPECT_TRUE(std::filesystem::exists(left));
}

TEST_F(KstatFailure, ADeadProvidersSocketIsSweptByTheNextProvider) {
    ReadyChild dead(provide_counter("one"));
    const std::filesystem::path left = std::filesystem::path(directory) / socket_of(dead.pid());
    dead.kill();
    EXPECT_TRUE(std::filesystem::exists(left));
    const ReadyChild next(provide_counter("two"));
    EXPECT_FALSE(std::filesystem::exists(left));
}

// Persistent kstats that are created again, and then not installed.
auto never_reinstall(int count) {
    return [count](const Line& line) {
        std::vector<kstat_t*> all;
        const auto create = [](int instance) {
            return kstat_create("one", instance, "p", "misc", KSTAT_TYPE_RAW, 4,
                                KSTAT_FLAG_PERSISTENT);
        };
        for (int i = 0; i < count; ++i) all.push_back(create(i));
        for (kstat_t* ksp : all) kstat_install(ksp);
        take_turns(line);
        for (kstat_t* ksp : all) kstat_delete(ksp);
        for (int i = 0; i < count; ++i) create(i);
        line.say('c');
        line.hear();
    };
}

TEST_F(KstatFailure, AKstatThatIsNeverInstalledAgainIsGivenUpOn) {
    const ReadyChild child(never_reinstall(1));
    open();
    child.line().say('n');
    ASSERT_EQ(child.line().hear(), 'c');
    EXPECT_LT(milliseconds([&] { EXPECT_EQ(kstat_read(kc, lookup("one"), nullptr), -1); }), 2'000);
    EXPECT_EQ(errno, EAGAIN);
}

TEST_F(KstatFailure, ManyKstatsThatAreNeverInstalledAgainCostOneWait) {
    const ReadyChild child(never_reinstall(20));
    open();
    child.line().say('n');
    ASSERT_EQ(child.line().hear(), 'c');
    const double spent = milliseconds([&] {
        for (int i = 0; i < 20; ++i) {
            EXPECT_EQ(kstat_read(kc, kstat_lookup(kc, "one", i, nullptr), nullptr), -1);
            EXPECT_EQ(errno, EAGAIN);
        }
    });
    EXPECT_LT(spent, 2'000);
}

// A process that hangs without being stopped costs one patience, as before.
TEST_F(KstatFailure, AHungProviderIsWaitedForOnce) {
    const ReadyChild hung(
        [&](const Line& line) { answer_falsely(directory, line, [](int) { sleep(30); }); });
    const double spent = milliseconds([&] { open(); });
    EXPECT_GE(spent, 900);
    EXPECT_LT(spent, 1'900);
}

int take_two_seconds(kstat_t*, int) {
    sleep(2);
    return 0;
}
void provide_a_slow_update(const Line& line) {
    kstat_install(kstat_create("quick", 0, "q", "misc", KSTAT_TYPE_RAW, 4, 0));
    kstat_t* const slow = kstat_create("slow", 0, "s", "misc", KSTAT_TYPE_RAW, 4, 0);
    slow->ks_update = take_two_seconds;
    kstat_install(slow);
    take_turns(line);
}

// The limit that kstat_read(3) and kstat_create(3) tell.
TEST_F(KstatFailure, AnUpdateOfMoreThanASecondCountsAsAStoppedProvider) {
    const ReadyChild child(provide_a_slow_update);
    open();
    const double spent =
        milliseconds([&] { EXPECT_EQ(kstat_read(kc, lookup("slow"), nullptr), -1); });
    EXPECT_EQ(errno, ENXIO);
    EXPECT_GE(spent, 900);
    EXPECT_LT(spent, 1'900);
    EXPECT_EQ(kstat_read(kc, lookup("quick"), nullptr), -1);
    EXPECT_EQ(errno, ENXIO);
    EXPECT_TRUE(eventually([&] { return kstat_read(kc, lookup("quick"), nullptr) != -1; }));
}

int fail_to_update(kstat_t*, int) {
    return EIO;
}
// sd7 cannot be read, and of sd8 not the kstats with its failed requests and its errors.
void provide_broken_disks(const Line& line) {
    kstat_t* const broken = kstat_create("sd", 7, "sd7", "disk", KSTAT_TYPE_IO, 1, 0);
    kstat_t* const commands = kstat_create("sd", 8, "sd8,cmds", "misc", KSTAT_TYPE_NAMED, 1, 0);
    kstat_named_init(KSTAT_NAMED_PTR(commands), "read_errors", KSTAT_DATA_UINT64);
    kstat_t* const errors =
        kstat_create("sderr", 8, "sd8,err", "device_error", KSTAT_TYPE_NAMED, 1, 0);
    kstat_named_init(KSTAT_NAMED_PTR(errors), "Illegal Request", KSTAT_DATA_UINT32);
    for (kstat_t* ksp : {broken, commands, errors}) {
        ksp->ks_update = fail_to_update;
        kstat_install(ksp);
    }
    kstat_install(kstat_create("sd", 8, "sd8", "disk", KSTAT_TYPE_IO, 1, 0));
    take_turns(line);
}

// A condition holds of all the other devices; that is no success.
TEST_F(KstatFailure, ADeviceThatCannotBeReadIsNotMeasured) {
    const ReadyChild child(provide_broken_disks);
    const std::string lines =
        "true: rate(sd*) == 0/s: sd8 0/s, 0 requests\n"
        "nothing to measure: sd7 could not be read\n"
        "nothing to measure: sd8,cmds could not be read\n"
        "nothing to measure: sd8,err could not be read\n";
    const Outcome checked = run_shell(BLKSCOPE " check --for 1ms 'rate(sd*) == 0/s'");
    EXPECT_EQ(checked.status, 4);
    EXPECT_EQ(checked.out, lines);
    const Outcome reported = run_shell(
        BLKSCOPE " report -o /dev/null --fail-unless 'rate(sd*) == 0/s' -- true | sort -r");
    EXPECT_NE(reported.out.find("nothing to measure: sd8,err could not be read\n"
                                "nothing to measure: sd8,cmds could not be read\n"
                                "nothing to measure: sd7 could not be read\n"),
              std::string::npos)
        << reported.out;
}

// Has one kstat, which is said to be as long as a kstat may be, and does not read it.
void list_at_length_and_hang(int reader) {
    struct {
        const uint32_t head[4] = {sizeof page + sizeof kstat, 0, 2, 1};
        const uint32_t page[2] = {1, 0};
        struct {
            int64_t times[2] = {1, 1};
            uint64_t data_size = uint64_t{64} << 20;
            int32_t kid = 1;
            int32_t instance = 0;
            uint32_t ndata = 64U << 20;
            uint8_t type = KSTAT_TYPE_RAW;
            uint8_t flags = 0;
            char module[KSTAT_STRLEN] = "long";
            char name[KSTAT_STRLEN] = "one";
            char klass[KSTAT_STRLEN] = "misc";
            char reserved[5] = {};
        } kstat;
    } const list;
    welcome(reader);
    std::array<char, 4096> asked;
    recv(reader, asked.data(), asked.size(), 0);
    send(reader, &list, sizeof list, MSG_NOSIGNAL);
    sleep(30);
}

// An eighth of the time that a provider would have that has already sent so much.
TEST_F(KstatFailure, ALengthThatAProviderOnlyClaimsCostsLittle) {
    const ReadyChild hung(
        [&](const Line& line) { answer_falsely(directory, line, list_at_length_and_hang); });
    open();
    kstat_t* const ksp = lookup("long");
    ASSERT_NE(ksp, nullptr);
    ASSERT_EQ(ksp->ks_data_size, size_t{64} << 20);
    const double spent = milliseconds([&] { EXPECT_EQ(kstat_read(kc, ksp, nullptr), -1); });
    EXPECT_GE(spent, 900);
    EXPECT_LT(spent, 4'000);
}

// As in two containers whose first processes share a run directory.
TEST_F(KstatFailure, AnotherProcessAtTheSameSocketDoesNotAnswerForTheFirst) {
    ReadyChild first(provide_counter("one"));
    open();
    kstat_t* const ksp = lookup("one");
    ASSERT_NE(kstat_read(kc, ksp, nullptr), -1);
    const std::string place = directory + "/" + socket_of(first.pid());
    first.kill();
    const ReadyChild second(provide_counter("one"));
    std::filesystem::rename(directory + "/" + socket_of(second.pid()), place);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(kstat_read(kc, ksp, nullptr), -1);
        EXPECT_EQ(errno, ENXIO);
    }
    ASSERT_NE(kstat_chain_update(kc), -1);
    ASSERT_NE(lookup("one"), nullptr);
    EXPECT_NE(kstat_read(kc, lookup("one"), nullptr), -1);
}

// The first page of its list is longer than a socket's buffer.
void provide_thousands(const Line& line) {
    for (int i = 0; i < 3'000; ++i) {
        kstat_install(kstat_create("one", i, nullptr, "misc", KSTAT_TYPE_RAW, 4, 0));
    }
    take_turns(line);
}

TEST_F(KstatFailure, ProvidersWhoseListsDoNotComeCostOneSecondTogether) {
    std::vector<std::unique_ptr<ChildProcess>> hung;
    while (hung.size() < 4) {
        hung.push_back(std::make_unique<ChildProcess>([&](const Line& line) {
            answer_falsely(directory, line, [](int reader) {
                welcome(reader);
                sleep(30);
            });
        }));
        ASSERT_EQ(hung.back()->line().hear(), 'r');
    }
    const ReadyChild healthy(provide_thousands);
    const double spent = milliseconds([&] { open(); });
    EXPECT_GE(spent, 900);
    EXPECT_LT(spent, 2'500);
    for (const int instance : {0, 2999}) {
        EXPECT_NE(kstat_read(kc, kstat_lookup(kc, "one", instance, nullptr), nullptr), -1);
    }
}

// Announces a welcome of 64 MiB, and sends it slowly.
void welcome_at_length(int reader) {
    const uint32_t head[4] = {64U << 20, 0, 1, 1};
    send(reader, head, sizeof head, MSG_NOSIGNAL);
    const std::array<char, 65536> part{};
    while (send(reader, part.data(), part.size(), MSG_NOSIGNAL) > 0) usleep(20'000);
}

TEST_F(KstatFailure, AWelcomeOfGreatLengthIsNotAwaited) {
    const ChildProcess healthy(provide_counter("one"));
    const ChildProcess slow(
        [&](const Line& line) { answer_falsely(directory, line, welcome_at_length); });
    for (const ChildProcess* child : {&healthy, &slow}) ASSERT_EQ(child->line().hear(), 'r');
    EXPECT_LT(milliseconds([&] { open(); }), 2'500);
    EXPECT_NE(kstat_read(kc, lookup("one"), nullptr), -1);
}

// Sends a welcome without its magic number, when the reader waits no longer.
void welcome_wrongly_and_late(int reader) {
    usleep(1'200'000);
    const uint32_t welcome[8] = {16, 0, 1, 1};
    send(reader, welcome, sizeof welcome, MSG_NOSIGNAL);
}

TEST_F(KstatFailure, AWrongWelcomeThatComesLateIsSurvived) {
    const ChildProcess healthy(provide_counter("one"));
    const ChildProcess late(
        [&](const Line& line) { answer_falsely(directory, line, welcome_wrongly_and_late); });
    for (const ChildProcess* child : {&healthy, &late}) ASSERT_EQ(child->line().hear(), 'r');
    open();
    for (int i = 0; i < 3; ++i) {
        usleep(500'000);
        EXPECT_NE(kstat_chain_update(kc), -1);
        EXPECT_NE(kstat_read(kc, lookup("one"), nullptr), -1);
    }
}

int take_long(kstat_t*, int) {
    usleep(400'000);
    return 0;
}
// A long answer is no excuse: a reader would wait for a hundred of them. The thread sanitizer needs a second for
// the bytes of a longer one.
#ifdef __SANITIZE_THREAD__
constexpr size_t long_answer = size_t{1} << 20;
#else
constexpr size_t long_answer = size_t{8} << 20;
#endif
void provide_slowly(const Line& line) {
    static std::vector<char> data(long_answer);
    for (int i = 0; i < 100; ++i) {
        const auto bytes = static_cast<uint_t>(i % 4 != 1 ? 4 : data.size());
        kstat_t* const ksp =
            kstat_create("slow", i, nullptr, "misc", KSTAT_TYPE_RAW, bytes, KSTAT_FLAG_VIRTUAL);
        ksp->ks_data = data.data();
        ksp->ks_update = take_long;
        kstat_install(ksp);
    }
    take_turns(line);
}

TEST_F(KstatFailure, AProviderWhoseEachAnswerIsSlowCostsABoundedTime) {
    const ReadyChild child(provide_slowly);
    open();
    const double spent = milliseconds([&] {
        EXPECT_NE(kstat_read(kc, kstat_lookup(kc, "slow", 0, nullptr), nullptr), -1);
        for (int i = 1; i < 100; ++i) kstat_read(kc, kstat_lookup(kc, "slow", i, nullptr), nullptr);
        EXPECT_EQ(kstat_read(kc, kstat_lookup(kc, "slow", 99, nullptr), nullptr), -1);
        EXPECT_EQ(errno, ENXIO);
    });
    EXPECT_LT(spent, 10'000);
    kstat_chain_update(kc);
    EXPECT_NE(kstat_read(kc, kstat_lookup(kc, "slow", 99, nullptr), nullptr), -1);
}

constexpr const char* print_one = KSTAT_COMMAND " -p one:::";

// Sends a wrong welcome in two parts, late. The process is stopped for 100 ms, as a throttled one,
// and the first part arrives meanwhile.
void welcome_wrongly_in_a_short_stop(int reader) {
    const uint32_t welcome[8] = {16, 0, 1, 1};
    constexpr size_t half = sizeof welcome / 2;
    std::signal(SIGCHLD, SIG_IGN);
    usleep(250'000);
    if (fork() == 0) {
        usleep(50'000);
        send(reader, welcome, half, MSG_NOSIGNAL);
        usleep(50'000);
        kill(getppid(), SIGCONT);
        _exit(0);
    }
    raise(SIGSTOP);
    send(reader, welcome + 4, half, MSG_NOSIGNAL);
}

TEST_F(KstatFailure, AReaderWaitsForAProviderThatWasStoppedOnlyForAMoment) {
    const ReadyChild throttled([&](const Line& line) {
        answer_falsely(directory, line, welcome_wrongly_in_a_short_stop);
    });
    EXPECT_EQ(run_shell(print_one).err,
              "kstat: " + directory + "/" + socket_of(throttled.pid()) +
                  " sent an invalid reply; its statistics are left out\n");
}

TEST_F(KstatFailure, TheCommandsNameAProviderThatDoesNotAnswer) {
    const ChildProcess healthy(provide_counter("one"));
    const ChildProcess stopped(provide_counter("two"));
    for (const ChildProcess* child : {&healthy, &stopped}) ASSERT_EQ(child->line().hear(), 'r');
    EXPECT_EQ(run_shell(print_one).err, "");
    stopped.stop();
    EXPECT_EQ(run_shell(print_one).err, "kstat: " + directory + "/" + socket_of(stopped.pid()) +
                                            " does not answer; its statistics are left out\n");
}

// More providers than a reader of 64 descriptors has room for.
class KstatDescriptors : public KstatProcesses {
  protected:
    void SetUp() override {
        if (BLKSCOPE_SANITIZED) GTEST_SKIP() << "SKIPPED: a sanitizer needs descriptors of its own";
        for (int i = 0; i < 60; ++i) {
            children_.push_back(std::make_unique<ChildProcess>(provide_number));
        }
        for (const auto& child : children_) ASSERT_EQ(child->line().hear(), 'r');
    }

  private:
    std::vector<std::unique_ptr<ChildProcess>> children_;
};

TEST_F(KstatDescriptors, TheCommandsRaiseTheSoftLimit) {
    const Outcome outcome =
        run_shell("(ulimit -S -n 40; " KSTAT_COMMAND " -l one:0:number:value | wc -l)");
    EXPECT_EQ(outcome.out, "60\n");
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(outcome.status, 0);
}

TEST_F(KstatDescriptors, TheCommandsSayWhatTheyCannotReach) {
    const std::string few = "(ulimit -n 64; ";
    const std::string why =
        ": 64 descriptors are too few; statistics of some providers are left out; see ulimit -Hn\n";
    const Outcome host = run_shell(few + KSTAT_COMMAND " -p unix:0:system_misc:ncpus)");
    EXPECT_EQ(host.err, "kstat" + why);
    EXPECT_TRUE(host.out.starts_with("unix:0:system_misc:ncpus\t")) << host.out;
    EXPECT_EQ(host.status, 3);
    const Outcome iostat = run_shell(few + IOSTAT " -xs)");
    EXPECT_TRUE(iostat.err.starts_with("iostat" + why)) << iostat.err;
    EXPECT_EQ(iostat.status, 2);
}

TEST_F(KstatDescriptors, TheChainHasWhatCanBeReached) {
    const ChildProcess reader([](const Line& line) {
        // The test's own descriptors are open here, too.
        const auto most = static_cast<rlim_t>(dup(STDIN_FILENO)) + 40;
        const rlimit few{most, most};
        if (setrlimit(RLIMIT_NOFILE, &few) != 0) return;
        kstat_ctl_t* const chain = kstat_open();
        line.say(chain != nullptr ? 'o' : '-');
        line.say(kstat_chain_update(chain) == 0 ? '0' : '-');
        setenv("KSTAT_WARN", "reader", 1);
        line.say(kstat_chain_update(chain) == -1 && errno == EMFILE ? 'u' : '-');
        line.say(kstat_lookup(chain, "one", 0, "number") != nullptr ? 'p' : '-');
        kstat_t* const host = kstat_lookup(chain, "unix", 0, "system_misc");
        line.say(host != nullptr && kstat_read(chain, host, nullptr) != -1 ? 'h' : '-');
        line.say(::open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0 ? 'f' : '-');
        line.hear();
    });
    for (const char expected : {'o', '0', 'u', 'p', 'h', 'f'}) {
        EXPECT_EQ(reader.line().hear(), expected);
    }
}

// As many connections as may wait for a provider.
std::vector<Descriptor> fill_backlog(const std::string& path) {
    const sockaddr_un address = address_of(path);
    const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
    std::vector<Descriptor> waiting;
    do {
        waiting.emplace_back(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    } while (connect(waiting.back().get(), generic, sizeof address) == 0);
    EXPECT_EQ(errno, EAGAIN);
    return waiting;
}

TEST_F(KstatFailure, AStoppedProviderWithAFullBacklogCostsOneWaitAndHidesNoOther) {
    const ChildProcess one(provide_counter("one"));
    const ChildProcess stopped(provide_counter("two"));
    const ChildProcess three(provide_counter("three"));
    for (const ChildProcess* child : {&one, &stopped, &three}) {
        ASSERT_EQ(child->line().hear(), 'r');
    }
    stopped.stop();
    const auto waiting = fill_backlog(directory + "/" + socket_of(stopped.pid()));
    const double spent = milliseconds([&] {
        open();
        for (int i = 0; i < 5; ++i) EXPECT_EQ(kstat_chain_update(kc), 0);
    });
    EXPECT_LT(spent, 1'900);
    EXPECT_NE(lookup("one"), nullptr);
    EXPECT_EQ(lookup("two"), nullptr);
    EXPECT_NE(lookup("three"), nullptr);
    EXPECT_EQ(run_shell(print_one).err, "kstat: " + directory + "/" + socket_of(stopped.pid()) +
                                            " does not answer; its statistics are left out\n");
    stopped.signal(SIGCONT);
    EXPECT_TRUE(eventually([&] {
        kstat_chain_update(kc);
        return lookup("two") != nullptr;
    }));
}

TEST_F(KstatFailure, TheCommandsNameAProviderThatSendsGarbage) {
    const ReadyChild noise([&](const Line& line) {
        answer_falsely(directory, line, [](int reader) {
            send(reader, "no reply of any provider", 24, MSG_NOSIGNAL);
        });
    });
    EXPECT_EQ(run_shell(print_one).err,
              "kstat: " + directory + "/" + socket_of(noise.pid()) +
                  " sent an invalid reply; its statistics are left out\n");
}

}  // namespace

}  // namespace blkscope
