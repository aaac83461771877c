// The programs kstat2 and kstat2adm, with a real provider that is written in C.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "child_process.hpp"

namespace blkscope {

namespace {

// c_provider2, until its standard input ends.
class Provider2 {
  public:
    Provider2() {
        std::array<int, 2> in{};
        std::array<int, 2> out{};
        if (pipe(in.data()) != 0 || pipe(out.data()) != 0) std::abort();
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, in[0], 0);
        posix_spawn_file_actions_adddup2(&actions, out[1], 1);
        for (const int end : {in[0], in[1], out[0], out[1]}) {
            posix_spawn_file_actions_addclose(&actions, end);
        }
        std::string name = C_PROVIDER2;
        char* const argv[] = {name.data(), nullptr};
        if (posix_spawn(&pid_, name.c_str(), &actions, nullptr, argv, environ) != 0) std::abort();
        posix_spawn_file_actions_destroy(&actions);
        close(in[0]);
        close(out[1]);
        input_ = in[1];
        char byte = 0;
        while (read(out[0], &byte, 1) == 1 && byte != '\n') {
        }
        close(out[0]);
        if (byte == '\n') return;
        end();
        throw std::runtime_error("c_provider2 is not ready");
    }
    ~Provider2() { end(); }
    Provider2(const Provider2&) = delete;
    Provider2& operator=(const Provider2&) = delete;

  private:
    void end() const {
        close(input_);
        waitpid(pid_, nullptr, 0);
    }

    pid_t pid_ = -1;
    int input_ = -1;
};

class Kstat2Command : public KstatProcesses {
  protected:
    Outcome kstat2(const std::string& arguments) const {
        return run_shell(KSTAT2_COMMAND " " + arguments);
    }
    Outcome kstat2adm(const std::string& arguments) const {
        return run_shell(KSTAT2ADM_COMMAND " " + arguments);
    }
};

TEST_F(Kstat2Command, PrintsLinesForPrograms) {
    const Provider2 provider;
    const Outcome outcome = kstat2("-p /misc/c_provider2/all | grep -v time");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.out,
              "kstat:/misc/c_provider2/all:events\t42\n"
              "kstat:/misc/c_provider2/all:loads\t[10,20,30]\n"
              "kstat:/misc/c_provider2/all:label\tone\\011two\n"
              "kstat:/misc/c_provider2/all:colours\t[red,green]\n"
              "kstat:/misc/c_provider2/all:sensor\t-\n");
}

TEST_F(Kstat2Command, PrintsOneStatisticWhateverItsSeparator) {
    const Provider2 provider;
    for (const char* operand :
         {"'/misc/c_provider2/all;events'", "kstat:/misc/c_provider2/all:events"}) {
        const Outcome outcome = kstat2(std::string("-p ") + operand + " | cut -f 2");
        EXPECT_EQ(outcome.out, "42\n") << operand << outcome.err;
    }
}

TEST_F(Kstat2Command, PrintsAPrefixesKstatsInTheOrderOfTheirUris) {
    const Provider2 provider;
    const Outcome outcome = kstat2("-l /disk | cut -d: -f1,2 | uniq");
    EXPECT_EQ(outcome.out,
              "kstat:/disk/c_provider2/dev0/0\nkstat:/disk/c_provider2/dev0/0/latency\n");
    EXPECT_EQ(kstat2("-q /dis").status, 1) << "a segment is whole or not meant";
}

TEST_F(Kstat2Command, UnitesWhatItsSelectorsSelect) {
    const Provider2 provider;
    const Outcome outcome = kstat2(
        "-l -g '*sleeper' -r '/0/lat' /misc/c_provider2/all:sensor "
        "/misc/c_provider2/sleeper:number | grep -v time");
    EXPECT_EQ(outcome.out,
              "kstat:/disk/c_provider2/dev0/0/latency:buckets\n"
              "kstat:/disk/c_provider2/dev0/0/latency:type\n"
              "kstat:/disk/c_provider2/dev0/0/latency:range_min\n"
              "kstat:/disk/c_provider2/dev0/0/latency:range_max\n"
              "kstat:/disk/c_provider2/dev0/0/latency:stepping\n"
              "kstat:/misc/c_provider2/all:sensor\n"
              "kstat:/misc/c_provider2/sleeper:number\n");
}

// A drawing of the histogram that the provider publishes. The bounds end before the bars.
std::string drawing(const std::string& first, const std::string& second, const std::string& third) {
    return "kstat:/disk/c_provider2/dev0/0/latency\n" + first +
           " | ########################################"
           " |          3 |  75.00 %\n" +
           second +
           " |                                         "
           " |          0 |  75.00 %\n" +
           third +
           " | #############                           "
           " |          1 | 100.00 %\n";
}

TEST_F(Kstat2Command, DrawsAHistogramWithBoundsAsPublished) {
    const Provider2 provider;
    EXPECT_EQ(kstat2("/disk/c_provider2/dev0/0/latency | head -4").out,
              drawing("          4096 – 8191", "         8192 – 16383", "        16384 – 32767"));
}

TEST_F(Kstat2Command, DrawsAHistogramInTheUnitOfItsValues) {
    const Provider2 provider;
    EXPECT_EQ(kstat2("-h /disk/c_provider2/dev0/0/latency | head -4").out,
              drawing("        4.096 us – 8.191 us", "        8.192 us – 16.38 us",
                      "        16.38 us – 32.77 us"));
}

TEST_F(Kstat2Command, PrintsJson) {
    const Provider2 provider;
    const Outcome outcome = kstat2("-j /misc/c_provider2/all /misc/c_provider2/sleeper");
    const auto json = nlohmann::json::parse(outcome.out);
    ASSERT_EQ(json.size(), 2u);
    const auto& all = json[0];
    EXPECT_EQ(all["uri"], "kstat:/misc/c_provider2/all");
    EXPECT_EQ(all["desc"], "one of each type");
    EXPECT_EQ(all["metatype"], "none");
    EXPECT_EQ(all["flags"], nlohmann::json({"stable"}));
    EXPECT_GE(all["snaptime"], all["crtime"]);
    EXPECT_EQ(all["data"]["events"], 42);
    EXPECT_EQ(all["data"]["loads"], nlohmann::json({10, 20, 30}));
    EXPECT_EQ(all["data"]["label"], "one\ttwo");
    EXPECT_TRUE(all["data"]["sensor"].is_null());
    EXPECT_EQ(all["meta"]["sensor"]["type"], "temp_c");
    EXPECT_EQ(json[1]["flags"], nlohmann::json({"dormant"}));
}

TEST_F(Kstat2Command, SaysByItsExitStatusWhetherAnythingMatched) {
    EXPECT_EQ(kstat2("").status, 1);
    const Provider2 provider;
    EXPECT_EQ(kstat2("-q").status, 0);
    EXPECT_EQ(kstat2("-q").out, "");
    EXPECT_EQ(kstat2("-q /misc/c_provider2/all:missing").status, 1);
    EXPECT_EQ(kstat2("-q -r '('").status, 2);
    EXPECT_EQ(kstat2("-p -j").status, 2);
    EXPECT_EQ(run_shell("KSTAT_DIR=/dev/null " KSTAT2_COMMAND).status, 3);
    EXPECT_EQ(kstat2("-p >/dev/full").status, 3);
    EXPECT_EQ(kstat2("--help").status, 0);
}

TEST_F(Kstat2Command, ReportsAsOftenAsItIsAsked) {
    const Provider2 provider;
    const Outcome outcome = kstat2("-p -T u -c 2 /misc/c_provider2/all:events");
    std::istringstream lines(outcome.out);
    int stamps = 0;
    int values = 0;
    for (std::string line; std::getline(lines, line);) {
        (line.find('\t') == std::string::npos ? stamps : values) += 1;
    }
    EXPECT_EQ(stamps, 2);
    EXPECT_EQ(values, 2);
}

TEST_F(Kstat2Command, EndsWhenNobodyReadsOn) {
    const Provider2 provider;
    const Outcome outcome = run_shell("timeout 20 " KSTAT2_COMMAND " -p -i 1 | head -1");
    EXPECT_FALSE(outcome.out.empty());
    EXPECT_EQ(outcome.err, "");
}

TEST_F(Kstat2Command, AdmSwitchesWhatItLists) {
    const Provider2 provider;
    EXPECT_EQ(kstat2adm("").out,
              "IDENTIFIER         DEFAULT   STATE     PSTATE    DESCRIPTION\n"
              "c_provider2:extra  disabled  disabled  disabled  costs something\n");
    EXPECT_EQ(kstat2("-q /misc/c_provider2/optional").status, 1);
    const Outcome enabled = kstat2adm("-v enable c_provider2:extra");
    EXPECT_EQ(enabled.status, 0) << enabled.err;
    EXPECT_EQ(enabled.out, "c_provider2:extra: enabled\n");
    EXPECT_EQ(kstat2("-q /misc/c_provider2/optional").status, 0);
    EXPECT_EQ(kstat2adm("default c_provider2:extra").status, 0);
    EXPECT_EQ(kstat2("-q /misc/c_provider2/optional").status, 1);
    EXPECT_EQ(kstat2adm("enable no:such").status, 1);
    EXPECT_EQ(kstat2adm("enable").status, 1);
}

TEST_F(Kstat2Command, AdmTellsWhoMayNotFromWhatIsNot) {
    if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root can be somebody else";
    const Provider2 provider;
    // Copied: another user may not enter the folder of the build.
    const std::string programs = directory + "/programs/";
    const Outcome copied =
        run_shell("install -D -m 755 -t " + programs +
                  " " KSTAT2ADM_COMMAND " " KSTAT2_COMMAND " && install -m 755 " LIBKSTAT2 " " +
                  programs + "libkstat2.so.1");
    ASSERT_EQ(copied.status, 0) << copied.err;
    const std::string as_nobody = "LD_LIBRARY_PATH=" + programs +
                                  " setpriv --reuid 65534 --regid 65534 --clear-groups " + programs;
    const Outcome refused = run_shell(as_nobody + "kstat2adm enable c_provider2:extra");
    EXPECT_EQ(refused.status, 2) << refused.err;
    const Outcome names = run_shell(as_nobody + "kstat2 -l");
    EXPECT_EQ(names.status, 0) << names.err;
    EXPECT_NE(names.out.find("sleeper"), std::string::npos);
    EXPECT_EQ(names.out.find("secret"), std::string::npos);
}

}  // namespace

}  // namespace blkscope
