// The kstat program, with a real provider in a process of its own.
#include <gtest/gtest.h>
#include <kstat.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "child_process.hpp"

namespace blkscope {

namespace {

class KstatCommand : public KstatProcesses {
  protected:
    // `arguments` as one would type them.
    Outcome run(const std::string& arguments) const {
        return run_shell(KSTAT_COMMAND " " + arguments);
    }
};

void provide(const Line& line, const std::function<void()>& publish) {
    publish();
    take_turns(line);
}

// A processor's counters as Solaris lays them out. First are a lock of two words and seven words
// of times, then bread and its followers.
void publish_cpu(int number, uint32_t intr, uint32_t intrblk, uint32_t intrthread) {
    constexpr uint_t words = 95;
    kstat_t* const ksp =
        kstat_create("cpu_stat", number, nullptr, "misc", KSTAT_TYPE_RAW, words * 4, 0);
    auto* const data = static_cast<uint32_t*>(ksp->ks_data);
    data[17] = intr;
    data[42] = intrthread;
    data[43] = intrblk;
    kstat_install(ksp);
}

struct Page {
    const char* name;
    ulong_t value;
};

constexpr std::array pages{
    Page{"physmem", 522'272},
    Page{"nalloc", 11'957'763},
    Page{"nfree", 11'856'636},
    Page{"nalloc_calls", 9'981},
    Page{"nfree_calls", 6'689},
    Page{"kernelbase", 3'556'769'792},
    Page{"econtig", 4'278'190'080},
    Page{"freemem", 248'309},
    Page{"availrmem", 343'567},
    Page{"lotsfree", 8'002},
    Page{"desfree", 4'001},
    Page{"minfree", 2'000},
    Page{"fastscan", 256'068},
    Page{"slowscan", 100},
    Page{"nscan", 0},
    Page{"desscan", 25},
    Page{"pp_kernel", 64'102},
    Page{"pagesfree", 248'309},
    Page{"pageslocked", 168'569},
    Page{"pagestotal", 512'136},
};

// A module of the test's own: a machine that runs these tests may publish its own system_pages.
void publish_pages() {
    kstat_t* const ksp =
        kstat_create("walkthrough", 0, "system_pages", "pages", KSTAT_TYPE_NAMED, pages.size(), 0);
    for (size_t i = 0; i < pages.size(); ++i) {
        kstat_named_t& record = KSTAT_NAMED_PTR(ksp)[i];
        kstat_named_init(&record, pages[i].name, KSTAT_DATA_ULONG);
        record.value.ul = pages[i].value;
    }
    kstat_install(ksp);
}

// Processors that no machine has: those that it has are there too.
void publish_walkthrough() {
    publish_cpu(901, 878'951'000, 21'604, 668'353'070);
    publish_cpu(902, 211'041'358, 280, 209'879'640);
    publish_pages();
}

TEST_F(KstatCommand, ListsTheInterruptsOfProcessorsByOptions) {
    const ReadyChild child([](const Line& line) { provide(line, publish_walkthrough); });
    const Outcome outcome = run("-p -m cpu_stat -i '90?' -s 'intr*'");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.out,
              "cpu_stat:901:cpu_stat901:intr\t878951000\n"
              "cpu_stat:901:cpu_stat901:intrblk\t21604\n"
              "cpu_stat:901:cpu_stat901:intrthread\t668353070\n"
              "cpu_stat:902:cpu_stat902:intr\t211041358\n"
              "cpu_stat:902:cpu_stat902:intrblk\t280\n"
              "cpu_stat:902:cpu_stat902:intrthread\t209879640\n");
}

TEST_F(KstatCommand, ShowsTheInterruptsOfProcessorsByAnOperand) {
    const ReadyChild child([](const Line& line) { provide(line, publish_walkthrough); });
    const Outcome outcome = run("'cpu_stat:/^90/::/^intr/'");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.out,
              "module: cpu_stat                        instance: 901   \n"
              "name:   cpu_stat901                     class:    misc\n"
              "\tintr                            878951000\n"
              "\tintrblk                         21604\n"
              "\tintrthread                      668353070\n"
              "\n"
              "module: cpu_stat                        instance: 902   \n"
              "name:   cpu_stat902                     class:    misc\n"
              "\tintr                            211041358\n"
              "\tintrblk                         280\n"
              "\tintrthread                      209879640\n"
              "\n");
}

TEST_F(KstatCommand, ShowsTheInterruptsOfThisMachinesProcessorsInTheSameForm) {
    const Outcome outcome = run("-p -m cpu_stat -s 'intr*'");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    std::istringstream lines(outcome.out);
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
        int instance = -1;
        int number = -1;
        char statistic[31];
        uint64_t value = 0;
        EXPECT_EQ(std::sscanf(line.c_str(), "cpu_stat:%d:cpu_stat%d:%30[a-z]\t%" SCNu64, &instance,
                              &number, statistic, &value),
                  4)
            << line;
        EXPECT_EQ(instance, number);
    }
    EXPECT_GE(count, 3);
    EXPECT_EQ(count % 3, 0);
}

// Everything but the two times, which are the clock's.
TEST_F(KstatCommand, ShowsTheSystemsPages) {
    const ReadyChild child([](const Line& line) { provide(line, publish_walkthrough); });
    const Outcome outcome = run("-m walkthrough -n system_pages | sed 's/time .*/time/'");
    EXPECT_EQ(outcome.out,
              "module: walkthrough                     instance: 0     \n"
              "name:   system_pages                    class:    pages\n"
              "\tavailrmem                       343567\n"
              "\tcrtime\n"
              "\tdesfree                         4001\n"
              "\tdesscan                         25\n"
              "\tecontig                         4278190080\n"
              "\tfastscan                        256068\n"
              "\tfreemem                         248309\n"
              "\tkernelbase                      3556769792\n"
              "\tlotsfree                        8002\n"
              "\tminfree                         2000\n"
              "\tnalloc                          11957763\n"
              "\tnalloc_calls                    9981\n"
              "\tnfree                           11856636\n"
              "\tnfree_calls                     6689\n"
              "\tnscan                           0\n"
              "\tpagesfree                       248309\n"
              "\tpageslocked                     168569\n"
              "\tpagestotal                      512136\n"
              "\tphysmem                         522272\n"
              "\tpp_kernel                       64102\n"
              "\tslowscan                        100\n"
              "\tsnaptime\n"
              "\n");
}

// Names and strings as bad as they come.
void publish_nasty() {
    kstat_t* const ksp =
        kstat_create("nasty", 0, "quote\"back\\slash", "a\tclass", KSTAT_TYPE_NAMED, 4, 0);
    kstat_named_t* const records = KSTAT_NAMED_PTR(ksp);
    kstat_named_init(&records[0], "string", KSTAT_DATA_STRING);
    kstat_named_setstr(&records[0], "what?\n\"\\\x01\xff\xc3\xa9");
    kstat_named_init(&records[1], "null", KSTAT_DATA_STRING);
    kstat_named_init(&records[2], "char", KSTAT_DATA_CHAR);
    std::memset(records[2].value.c, '"', sizeof(records[2].value.c));
    kstat_named_init(&records[3], "name\n?", KSTAT_DATA_UINT64);
    records[3].value.ui64 = 18'446'744'073'709'551'615U;
    ksp->ks_data_size += KSTAT_NAMED_STR_BUFLEN(&records[0]);
    kstat_install(ksp);
}

TEST_F(KstatCommand, WritesJsonWhateverIsPublished) {
    const ReadyChild child([](const Line& line) { provide(line, publish_nasty); });
    const auto parsed = nlohmann::json::parse(run("-j -m nasty").out);
    ASSERT_EQ(parsed.size(), 1u);
    EXPECT_EQ(parsed[0]["name"], "quote\"back\\slash");
    EXPECT_EQ(parsed[0]["class"], "a\tclass");
    EXPECT_EQ(parsed[0]["data"]["string"], "what?\n\"\\\x01\xc3\xbf\xc3\xa9");
    EXPECT_TRUE(parsed[0]["data"]["null"].is_null());
    EXPECT_EQ(parsed[0]["data"]["char"], std::string(16, '"'));
    EXPECT_EQ(parsed[0]["data"]["name\n?"], 18'446'744'073'709'551'615U);
    EXPECT_EQ(parsed[0]["snaptime"], parsed[0]["data"]["snaptime"]);
    EXPECT_NE(parsed[0]["snaptime"], 0);
}

TEST_F(KstatCommand, RepeatsAtIntervalsWithAnEmptyLineBetween) {
    const ReadyChild child([](const Line& line) { provide(line, publish_walkthrough); });
    const std::string line = "cpu_stat:902:cpu_stat902:intr\n";
    EXPECT_EQ(run("-l cpu_stat:902::intr 1 2").out, line + "\n" + line);

    std::istringstream arrays(run("-j cpu_stat:902::intr 1 2").out);
    nlohmann::json first;
    nlohmann::json second;
    arrays >> first >> second;  // throws unless each is an array of its own
    EXPECT_EQ(first[0]["data"], second[0]["data"]);
    EXPECT_GE(second[0]["snaptime"].get<double>() - first[0]["snaptime"].get<double>(), 0.9);
}

TEST_F(KstatCommand, TheExitStatusSaysWhatItFound) {
    const ReadyChild child([](const Line& line) { provide(line, publish_walkthrough); });
    const Outcome found = run("-q cpu_stat");
    EXPECT_EQ(found.status, 0);
    EXPECT_EQ(found.out + found.err, "");
    const Outcome missing = run("no_such_module");
    EXPECT_EQ(missing.status, 1);
    EXPECT_EQ(missing.out + missing.err, "");
    const Outcome name = run("-p cpu_stat901");
    EXPECT_EQ(name.status, 1);
    EXPECT_EQ(name.out, "");
    EXPECT_EQ(name.err, "kstat: no module has this name; the kstat is cpu_stat:901:cpu_stat901\n");
    const Outcome wrong = run("-H");
    EXPECT_EQ(wrong.status, 2);
    EXPECT_TRUE(wrong.err.starts_with("kstat: illegal option -- H\nUsage: kstat ")) << wrong.err;
    const Outcome helped = run("-h");
    EXPECT_EQ(helped.status, 0);
    EXPECT_TRUE(helped.out.empty() && helped.err.starts_with("Usage: kstat ")) << helped.err;
    EXPECT_EQ(run("cpu_stat >/dev/full").status, 3);
}

TEST_F(KstatCommand, AHostileExpressionMatchesSoonOrIsRefused) {
    const ReadyChild child([](const Line& line) {
        provide(line, [] {
            kstat_install(kstat_create("aaaaaaaaaaaaaaaaaaaaaaaaaaaaab", 0, "x", "misc",
                                       KSTAT_TYPE_INTR, 1, 0));
        });
    });
    const Outcome soon = run("-m '/^(a+)+$/'");
    EXPECT_EQ(soon.status, 1);
    EXPECT_EQ(soon.err, "");
    const Outcome refused = run("-m '/((a{100}){100}){100}/'");
    EXPECT_EQ(refused.status, 2);
    EXPECT_TRUE(
        refused.err.starts_with("kstat: the regular expression has too many repetitions\nUsage: "))
        << refused.err;
}

TEST_F(KstatCommand, AReaderThatHasEnoughIsNoFailure) {
    const ReadyChild child([](const Line& line) { provide(line, publish_walkthrough); });
    EXPECT_EQ(run("-p cpu_stat 1 | head -n 1").out, "cpu_stat:0:cpu_stat0:anonfree\t0\n");
}

// Ten times the measured time. The limit catches a round trip or a search too many, and not a busy
// machine.
TEST_F(KstatCommand, TenThousandKstatsAreListedInAMoment) {
    const ReadyChild child([](const Line& line) {
        provide(line, [] {
            for (int i = 0; i < 10'000; ++i) {
                kstat_install(kstat_create("many", i, nullptr, "disk", KSTAT_TYPE_IO, 1, 0));
            }
        });
    });
    Outcome outcome{};
    const double spent = milliseconds([&] { outcome = run("-p -m many"); });
    std::printf("kstat -p of 10000 kstats: %.0f ms\n", spent);
    EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 10'000 * 15);
    EXPECT_LT(spent, BLKSCOPE_SANITIZED ? 60'000 : 10'000);
}

}  // namespace

}  // namespace blkscope
