// blkscope top as a user sees it: in a terminal, which tmux is, with a shell around it.

#include <signal.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include "served_device.hpp"

namespace blkscope::test {
namespace {

/// A client that reads for as long as it is there.
class Reads {
  public:
    explicit Reads(const std::string& uri)
        : thread_([uri](const std::stop_token& stop) {
              for (Client client(uri); !stop.stop_requested();) client.read(0, 4096);
          }) {}

  private:
    std::jthread thread_;
};

class TopInATerminal : public ServedDevice {
  protected:
    void TearDown() override {
        if (terminal_open_) close_terminal();
        ServedDevice::TearDown();
    }

    CommandResult tmux(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"tmux", "-f", "/dev/null", "-S", path("tmux")});
        return run(arguments);
    }

    /// A terminal with a shell that has job control, in which the programs are found.
    void open_terminal(const std::string& columns = "80", const std::string& rows = "24",
                       const std::string& locale = "C.UTF-8") {
        const std::filesystem::path bin = std::filesystem::path(BLKSCOPE_BINARY).parent_path();
        const std::string shell = "env -u NO_COLOR PS1='ready> ' LC_ALL=" + locale +
                                  " PATH=" + bin.string() + ":\"$PATH\" bash --norc --noprofile";
        // Once in a while tmux's own server ends before its client has reached it.
        CommandResult opened;
        ASSERT_TRUE(eventually([&] {
            opened = tmux({"new-session", "-d", "-x", columns, "-y", rows, shell});
            return opened.status == 0;
        })) << opened.output;
        terminal_open_ = true;
        ASSERT_TRUE(shows("ready>")) << screen();
    }

    void close_terminal() {
        tmux({"kill-server"});
        terminal_open_ = false;
    }

    void type(const std::string& line) {
        tmux({"send-keys", "-l", line});
        press("Enter");
    }
    void press(const std::string& key) {
        const CommandResult pressed = tmux({"send-keys", key});
        EXPECT_EQ(pressed.status, 0) << key << ": " << pressed.output;
    }
    void resize(const std::string& columns, const std::string& rows) {
        tmux({"resize-window", "-x", columns, "-y", rows});
    }

    std::string screen() { return tmux({"capture-pane", "-p"}).output; }
    std::vector<std::string> rows() {
        std::stringstream text(screen());
        std::vector<std::string> rows;
        for (std::string row; std::getline(text, row);) rows.push_back(row);
        return rows;
    }
    /// Whether the screen comes to show it.
    bool shows(const std::string& text) {
        return eventually([&] { return screen().find(text) != std::string::npos; });
    }
    /// Whether the screen's row, the top one being 0, comes to begin so.
    bool row_begins(size_t row, const std::string& text) {
        return eventually([&] {
            const auto all = rows();
            return row < all.size() && all[row].starts_with(text);
        });
    }

    /// Runs top, with the terminal's modes before and after it in files, and its status on the
    /// screen. top is ready when its keys are on the screen.
    void start_top(const std::string& arguments = "0.1", const std::string& environment = "") {
        type("clear; stty -a > " + path("before") + "; echo was here; " + environment + " sh -c '" +
             "echo $$ > " + path("pid") + "; exec blkscope top " + arguments +
             "'; echo status $?; stty -a > " + path("behind") + "; echo over > " + path("over"));
        EXPECT_TRUE(shows("q quit")) << screen();
    }

    pid_t top_pid() {
        pid_t pid = 0;
        std::ifstream(path("pid")) >> pid;
        return pid;
    }

    /// top has ended so, and the terminal is as it was.
    void expect_ended(int status) {
        EXPECT_TRUE(eventually([&] { return std::filesystem::exists(path("over")); })) << screen();
        EXPECT_TRUE(shows("status " + std::to_string(status))) << screen();
        const std::string left = screen();
        EXPECT_NE(left.find("was here"), std::string::npos) << left;
        EXPECT_EQ(left.find("q quit"), std::string::npos) << left;
        const std::string before = succeed({"cat", path("before")});
        EXPECT_NE(before.find("speed"), std::string::npos) << before;
        EXPECT_EQ(succeed({"cat", path("behind")}), before);
        std::filesystem::remove(path("over"));
    }

    /// The top row is that of a device at work.
    bool shows_work() {
        return eventually([&] {
            const auto all = rows();
            return std::ranges::any_of(all, [](const std::string& row) {
                return row.starts_with('>') && row.find(" 0.0 ") != 1 && row.ends_with("nbd0") &&
                       row.find_first_of("123456789") < 9;
            });
        });
    }

  private:
    bool terminal_open_ = false;
};

TEST_F(TopInATerminal, ShowsADeviceAtAnySizeAndLeavesTheTerminalAsItWas) {
    NEEDS("tmux");
    serve("memory:64M", {"--queue-depth", "4"});
    open_terminal();
    start_top();
    const Reads reads(uri());
    EXPECT_TRUE(shows_work()) << screen();
    const auto small = rows();
    ASSERT_EQ(small.size(), 24u);
    EXPECT_TRUE(small[0].starts_with("nbd0  64 MiB  1 client  up 0:")) << small[0];
    EXPECT_NE(small[0].find("  block 512 B  depth 4 "), std::string::npos) << small[0];
    EXPECT_TRUE(small[0].ends_with("every 100ms")) << small[0];
    EXPECT_NE(small[1].find(" wsvc_t   asvc_t  %w  %b device"), std::string::npos) << small[1];
    EXPECT_TRUE(row_begins(3, "receive  p99 ")) << screen();
    EXPECT_TRUE(row_begins(4, "wait     p99 ")) << screen();
    EXPECT_TRUE(row_begins(12, "service  p99 ")) << screen();
    EXPECT_TRUE(row_begins(20, "reply    p99 ")) << screen();

    resize("200", "50");
    EXPECT_TRUE(row_begins(49, "q quit")) << screen();
    const auto large = rows();
    ASSERT_EQ(large.size(), 50u);
    EXPECT_TRUE(large[0].ends_with("every 100ms")) << large[0];
    EXPECT_EQ(large[0].size(), 200u);
    EXPECT_TRUE(row_begins(25, "service  p99 ")) << screen();

    resize("40", "10");
    EXPECT_TRUE(row_begins(9, "q quit")) << screen();
    resize("80", "24");
    EXPECT_TRUE(row_begins(23, "q quit")) << screen();
    press("q");
    expect_ended(0);
}

TEST_F(TopInATerminal, ObeysItsKeys) {
    NEEDS("tmux");
    serve_with({"one=memory:1M", "two=memory:2M", "--unix", socket_});
    open_terminal();
    start_top();
    EXPECT_TRUE(row_begins(0, "nbd0  1 MiB")) << screen();
    press("2");
    EXPECT_TRUE(row_begins(0, "nbd1  2 MiB")) << screen();
    press("Up");
    EXPECT_TRUE(row_begins(0, "nbd0")) << screen();
    press("Down");
    EXPECT_TRUE(row_begins(0, "nbd1")) << screen();
    press("k");
    EXPECT_TRUE(row_begins(0, "nbd0")) << screen();
    press("Space");
    EXPECT_TRUE(shows("FROZEN")) << screen();
    press("Space");
    EXPECT_TRUE(shows("every 100ms")) << screen();
    press("+");
    EXPECT_TRUE(shows("every 200ms")) << screen();
    press("-");
    EXPECT_TRUE(shows("every 100ms")) << screen();
    press("s");
    EXPECT_TRUE(shows("sort: r/s+w/s")) << screen();
    press("h");
    EXPECT_TRUE(shows("Not to be misread")) << screen();
    press("x");
    EXPECT_TRUE(shows("q quit")) << screen();
    press("q");
    expect_ended(0);
}

TEST_F(TopInATerminal, ShowsTheSettingsOfADevice) {
    NEEDS("tmux");
    serve("memory:1M", {"plain=memory:2M", "--model", "memory@read=const:1us", "--limit",
                        "memory@iops=5000", "--fault", "memory@write:error=EPERM"});
    Client client(uri("memory"));
    EXPECT_EQ(client.try_read(0, 512), 0);
    EXPECT_EQ(client.try_write(0, 512), EPERM);
    open_terminal("100");
    start_top();
    EXPECT_TRUE(row_begins(4, "model read=const:1us, overruns ")) << screen();
    EXPECT_TRUE(shows(", mean lateness ")) << screen();
    EXPECT_TRUE(row_begins(5, "limit iops=5000, iops level 50 exceeded 0ms")) << screen();
    EXPECT_TRUE(row_begins(6, "fault 1: write:error=EPERM, hits 1")) << screen();
    EXPECT_EQ(client.try_write(0, 512), EPERM);
    EXPECT_TRUE(row_begins(6, "fault 1: write:error=EPERM, hits 2")) << screen();
    press("2");
    EXPECT_TRUE(row_begins(0, "nbd1  2 MiB")) << screen();
    EXPECT_TRUE(row_begins(4, "wait ")) << screen();
    press("q");
    expect_ended(0);
}

TEST_F(TopInATerminal, TheSignalThatEndsItIsItsStatusAndTheTerminalIsAsItWas) {
    NEEDS("tmux");
    serve("memory:1M");
    open_terminal();
    for (const int signal : {SIGTERM, SIGHUP}) {
        start_top();
        kill(top_pid(), signal);
        expect_ended(128 + signal);
    }
    start_top();
    press("C-c");
    // The shell gives its line up at ^C; what it would have run behind is not run.
    EXPECT_TRUE(eventually([&] { return kill(top_pid(), 0) != 0; }));
    type("echo status $?; stty -a > " + path("behind") + "; echo over > " + path("over"));
    expect_ended(130);
}

TEST_F(TopInATerminal, EndsByItselfAfterItsCount) {
    NEEDS("tmux");
    serve("memory:1M");
    open_terminal();
    type("blkscope top 0.1 3; echo status $?");
    EXPECT_TRUE(shows("status 0")) << screen();
    EXPECT_EQ(screen().find("q quit"), std::string::npos);
}

TEST_F(TopInATerminal, GivesTheTerminalBackWhileItIsStopped) {
    NEEDS("tmux");
    serve("memory:1M");
    open_terminal();
    start_top();
    press("C-z");
    EXPECT_TRUE(shows("Stopped")) << screen();
    EXPECT_NE(screen().find("was here"), std::string::npos) << screen();
    type("stty -a > " + path("stopped") + "; echo modes saved");
    EXPECT_TRUE(shows("\nmodes saved")) << screen();
    EXPECT_EQ(succeed({"cat", path("stopped")}), succeed({"cat", path("before")}));
    resize("100", "30");
    type("fg");
    EXPECT_TRUE(row_begins(29, "q quit")) << screen();
    EXPECT_TRUE(row_begins(0, "nbd0")) << screen();
    kill(top_pid(), SIGSTOP);
    EXPECT_TRUE(shows("Stopped")) << screen();
    type("stty echo icanon; fg");
    EXPECT_TRUE(row_begins(29, "q quit")) << screen();
    press("q");
    EXPECT_TRUE(eventually([&] { return kill(top_pid(), 0) != 0; }));
    EXPECT_TRUE(shows("was here")) << screen();
}

TEST_F(TopInATerminal, SaysThatAServerDiedAndGoesOn) {
    NEEDS("tmux");
    serve("memory:1M");
    open_terminal();
    start_top("0.5");  // a removed device is shown for ten of these
    server_->signal(SIGKILL);
    server_->wait();
    EXPECT_TRUE(eventually([&] {
        const std::string text = screen();
        return text.find("disk removed: nbd0") != std::string::npos &&
               text.find("nbd0 (gone)") != std::string::npos;
    })) << screen();
    EXPECT_TRUE(shows("no devices in " + folder_.string())) << screen();
    const auto next = serve_beside("memory:3M", "next");
    EXPECT_TRUE(row_begins(0, "nbd0  3 MiB")) << screen();
    press("q");
    expect_ended(0);
}

TEST_F(TopInATerminal, EndsWithItsTerminal) {
    NEEDS("tmux");
    serve("memory:1M");
    open_terminal();
    start_top();
    const pid_t pid = top_pid();
    ASSERT_EQ(kill(pid, 0), 0);
    close_terminal();
    EXPECT_TRUE(eventually([&] { return kill(pid, 0) != 0; }));
}

TEST_F(TopInATerminal, ColorsAreLeftOutWhereTheyAreNotWanted) {
    NEEDS("tmux");
    serve("memory:1M");
    open_terminal();
    const auto has_colors = [&] {
        return tmux({"capture-pane", "-p", "-e"}).output.find("38;5;") != std::string::npos;
    };
    const std::string terminal = "TERM=screen-256color";  // in which the keys are gray
    start_top("0.1", terminal);
    EXPECT_TRUE(eventually(has_colors)) << tmux({"capture-pane", "-p", "-e"}).output;
    press("q");
    expect_ended(0);
    for (const auto& [arguments, environment] :
         {std::pair{"0.1 --no-color", terminal}, {"0.1", terminal + " NO_COLOR=1"}}) {
        start_top(arguments, environment);
        EXPECT_FALSE(has_colors()) << tmux({"capture-pane", "-p", "-e"}).output;
        press("q");
        expect_ended(0);
    }
}

TEST_F(TopInATerminal, IsAsciiWhereTheLocaleIs) {
    NEEDS("tmux");
    serve("memory:64M");
    for (const std::string locale : {"C.UTF-8", "C"}) {
        open_terminal("80", "24", locale);
        start_top();
        const Reads reads(uri());
        EXPECT_TRUE(shows_work()) << screen();
        EXPECT_TRUE(shows(locale == "C" ? "us|" : "us\u2502")) << screen();
        const std::string text = screen();
        const bool ascii = std::ranges::all_of(text, [](char c) { return (c & 0x80) == 0; });
        EXPECT_EQ(ascii, locale == "C") << text;
        press("q");
        expect_ended(0);
        close_terminal();
    }
}

TEST_F(TopInATerminal, SaysThatItKnowsNoSuchTerminal) {
    NEEDS("tmux");
    serve("memory:1M");
    open_terminal();
    type("TERM=nonsense blkscope top; echo status $?");
    EXPECT_TRUE(shows("status 1")) << screen();
    EXPECT_NE(screen().find("TERM=nonsense"), std::string::npos) << screen();
}

class TopInLines : public ServedDevice {
  protected:
    static size_t occurrences(const std::string& text, const std::string& of) {
        size_t count = 0;
        for (size_t at = text.find(of); at != std::string::npos; at = text.find(of, at + 1)) {
            ++count;
        }
        return count;
    }
};

TEST_F(TopInLines, WhereThereIsNoTerminalItPrintsAsManyReportsAsAskedFor) {
    serve_with({"one=memory:1M", "two=memory:1M", "--unix", socket_});
    const std::string text = succeed({BLKSCOPE_BINARY, "top", "0.1", "3"});
    EXPECT_EQ(occurrences(text, " asvc_t  %w  %b device\n"), 3u) << text;
    EXPECT_EQ(occurrences(text, " nbd0\n"), 3u) << text;
    EXPECT_EQ(occurrences(text, " nbd1\n"), 3u) << text;
    const std::string one = succeed({BLKSCOPE_BINARY, "top", "-b", "0.1", "1", "--device", "nbd1"});
    EXPECT_EQ(occurrences(one, " nbd0\n"), 0u) << one;
    EXPECT_EQ(occurrences(one, " nbd1\n"), 1u) << one;
}

TEST_F(TopInLines, ASignalEndsItAndIsItsStatus) {
    serve("memory:1M");
    Process top({BLKSCOPE_BINARY, "top", "0.1"}, path("top.log"));
    EXPECT_TRUE(eventually([&] { return occurrences(top.output(), " nbd0\n") >= 2; }));
    top.signal(SIGTERM);
    EXPECT_EQ(top.wait(), 128 + SIGTERM);
    EXPECT_TRUE(top.output().ends_with("\n"));
}

TEST_F(TopInLines, WhatIsMissingIsTold) {
    const CommandResult none = run({BLKSCOPE_BINARY, "top", "0.1", "2"});
    EXPECT_EQ(none.status, 0);
    EXPECT_EQ(occurrences(none.output, "blkscope: top: no devices in " + folder_.string()), 1u);
    const CommandResult named = run({BLKSCOPE_BINARY, "top", "0.1", "1", "--device", "nbd7"});
    EXPECT_EQ(occurrences(named.output, "blkscope: top: no device named nbd7 in "), 1u);
    serve("memory:1M");
    const CommandResult one =
        run({BLKSCOPE_BINARY, "top", "0.1", "2", "--device", "nbd0", "--device", "nbd9"});
    EXPECT_EQ(occurrences(one.output, "blkscope: top: no device named nbd9 in "), 1u) << one.output;
    EXPECT_EQ(occurrences(one.output, " nbd0\n"), 2u) << one.output;
}

TEST_F(TopInLines, WhatIsMissingIsAnErrorWhereItMustExist) {
    const std::vector<std::string> top{BLKSCOPE_BINARY, "top", "--must-exist", "0.1", "1"};
    EXPECT_EQ(run(top).status, 1);
    serve("memory:1M");
    EXPECT_EQ(run(top).status, 0);
    std::vector<std::string> other = top;
    other.insert(other.end(), {"--device", "nbd0", "--device", "nbd7"});
    const CommandResult missing = run(other);
    EXPECT_EQ(missing.status, 1);
    EXPECT_EQ(missing.output.rfind("blkscope: top: no device named nbd7 in ", 0), 0u)
        << missing.output;
}

TEST_F(TopInLines, AReaderThatHasEnoughIsNoFailure) {
    serve("memory:1M");
    const CommandResult result = run(
        {"bash", "-c",
         std::string("set -o pipefail; ") + BLKSCOPE_BINARY + " top --batch 0.1 1000 | head -n 3"});
    EXPECT_EQ(result.status, 0) << result.output;
}

}  // namespace
}  // namespace blkscope::test
