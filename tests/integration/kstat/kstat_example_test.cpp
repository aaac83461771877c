// The example provider, read from another process as a user would.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "child_process.hpp"

namespace blkscope {

namespace {

// The example with its standard input and output on pipes; told to end, and waited for, at the end.
class KstatExample : public KstatProcesses {
  protected:
    ~KstatExample() override { end(); }

    void run(const char* seconds) {
        int in[2];
        int out[2];
        ASSERT_EQ(pipe(in) + pipe(out), 0);
        pid_ = fork();
        if (pid_ == 0) {
            dup2(in[0], 0);
            dup2(out[1], 1);
            close(in[1]);
            execl(EXAMPLE, EXAMPLE, seconds, nullptr);
            _exit(127);
        }
        close(in[0]);
        close(out[1]);
        in_ = in[1];
        out_ = fdopen(out[0], "r");
        ASSERT_TRUE(eventually([this] {
            if (kc == nullptr) open();
            kstat_chain_update(kc);
            return lookup("fd", "fd0") != nullptr;
        }));
    }

    std::string line() {
        char text[256] = "";
        return std::fgets(text, sizeof text, out_) != nullptr ? text : "";
    }

    int end() {
        if (pid_ <= 0) return -1;
        close(in_);
        int status = 0;
        waitpid(pid_, &status, 0);
        std::fclose(out_);
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

    kstat_io_t disk() {
        kstat_io_t io{};
        EXPECT_NE(kstat_read(kc, lookup("fd", "fd0"), &io), -1);
        return io;
    }

  private:
    pid_t pid_ = -1;
    int in_ = -1;
    FILE* out_ = nullptr;
};

TEST_F(KstatExample, SystemPagesHoldsWhatTheKernelSaysAndRefusesWrites) {
    run("0.1");
    kstat_t* const pages = lookup("example", "system_pages");
    ASSERT_NE(pages, nullptr);
    EXPECT_STREQ(pages->ks_class, "pages");
    ASSERT_NE(kstat_read(kc, pages, nullptr), -1);
    const auto value = [&](const char* name) {
        return static_cast<kstat_named_t*>(kstat_data_lookup(pages, name))->value.ul;
    };
    // MemTotal is the physical memory less what the kernel keeps from the page allocator.
    EXPECT_EQ(value("physmem"), static_cast<ulong_t>(sysconf(_SC_PHYS_PAGES)));
    EXPECT_GT(value("freemem"), 0u);
    EXPECT_LT(value("freemem"), value("physmem"));
    EXPECT_EQ(kstat_write(kc, pages, nullptr), -1);
    EXPECT_EQ(errno, EACCES);
    EXPECT_EQ(end(), 0);
}

TEST_F(KstatExample, TheDriversRequestsAreCountedAndItsQueuesDrain) {
    run("0.5");
    unsigned reads = 0;
    unsigned writes = 0;
    ASSERT_EQ(std::sscanf(line().c_str(), "done: %u reads, %u writes", &reads, &writes), 2);
    const kstat_io_t io = disk();
    EXPECT_GT(reads, 0u);
    EXPECT_EQ(io.reads, reads);
    EXPECT_EQ(io.writes, writes);
    EXPECT_EQ(io.nread, reads * u_longlong_t{4096});
    EXPECT_EQ(io.nwritten, writes * u_longlong_t{4096});
    EXPECT_EQ(io.wcnt + io.rcnt, 0u);
    EXPECT_GT(io.wlentime, io.wtime);  // more at once than the device takes
    EXPECT_GT(io.rtime, 0);
    EXPECT_LE(io.rlentime, 2 * io.rtime);  // two workers
    EXPECT_EQ(end(), 0);
}

TEST_F(KstatExample, IostatShowsTheDriverAsADisk) {
    run("0.1");
    line();
    const Outcome iostat = run_shell(IOSTAT " -xn fd0");
    EXPECT_EQ(iostat.status, 0) << iostat.err;
    EXPECT_NE(iostat.out.find(" fd0\n"), std::string::npos) << iostat.out;
}

TEST_F(KstatExample, ATimeThatIsNoneIsBadUsage) {
    EXPECT_EQ(WEXITSTATUS(std::system(EXAMPLE " soon 2>/dev/null")), 2);
}

}  // namespace

}  // namespace blkscope
