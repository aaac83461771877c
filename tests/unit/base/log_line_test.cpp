#include "base/log_line.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <string>
#include <thread>

#include "base/descriptor.hpp"

namespace blkscope {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct Pipe {
    Pipe() {
        std::array<int, 2> ends{};
        EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
        out = Descriptor(ends[0]);
        in = Descriptor(ends[1]);
    }
    void fill() const {
        fcntl(in.get(), F_SETFL, O_NONBLOCK);
        while (write(in.get(), "x", 1) == 1) {
        }
        fcntl(in.get(), F_SETFL, 0);
    }
    /// Everything that is in the pipe now.
    [[nodiscard]] std::string drain() const {
        fcntl(out.get(), F_SETFL, O_NONBLOCK);
        std::array<char, 4096> part{};
        std::string all;
        for (ssize_t bytes = 0; (bytes = read(out.get(), part.data(), part.size())) > 0;) {
            all.append(part.data(), static_cast<size_t>(bytes));
        }
        return all;
    }

    Descriptor out;
    Descriptor in;
};

/// Standard error is another descriptor while the object lives.
class StandardError {
  public:
    explicit StandardError(int descriptor) : before_(dup(STDERR_FILENO)) { become(descriptor); }
    ~StandardError() { become(before_.get()); }
    StandardError(const StandardError&) = delete;
    StandardError& operator=(const StandardError&) = delete;

    static void become(int descriptor) {
        EXPECT_EQ(dup2(descriptor, STDERR_FILENO), STDERR_FILENO);
    }

  private:
    Descriptor before_;
};

TEST(LogLine, HasTheProgramsName) {
    const Pipe pipe;
    {
        const StandardError changed(pipe.in.get());
        log_line("one");
        log_line("");
    }
    EXPECT_EQ(pipe.drain(), "blkscope: one\nblkscope: \n");
}

TEST(LogLine, IsLostOnAFullDiskAndCounted) {
    const Descriptor full(open("/dev/full", O_WRONLY | O_CLOEXEC));
    ASSERT_TRUE(full.is_open());
    const Pipe pipe;
    {
        const StandardError changed(full.get());
        log_line("one");
        log_line("two");
        StandardError::become(pipe.in.get());
        log_line("three");
        log_line("four");
    }
    EXPECT_EQ(pipe.drain(), "blkscope: lines lost: 2\nblkscope: three\nblkscope: four\n");
}

TEST(LogLine, IsLostWithoutAReaderAndRaisesNoSignal) {
    Pipe gone;
    gone.out = Descriptor();
    const Pipe pipe;
    {
        const StandardError changed(gone.in.get());
        log_line("one");
        StandardError::become(pipe.in.get());
        log_line("two");
    }
    EXPECT_EQ(pipe.drain(), "blkscope: lines lost: 1\nblkscope: two\n");
}

TEST(LogLine, WaitsForAFullPipeOnce) {
    const Pipe pipe;
    pipe.fill();
    const auto begin = steady_clock::now();
    {
        const StandardError changed(pipe.in.get());
        for (int i = 0; i < 1000; ++i) log_line("nobody reads");
        EXPECT_LT(steady_clock::now() - begin, milliseconds(5000));
        static_cast<void>(pipe.drain());
        log_line("read again");
    }
    EXPECT_EQ(pipe.drain(), "blkscope: lines lost: 1000\nblkscope: read again\n");
}

TEST(LogLine, IsCutAtTheLargestUnmixedWrite) {
    const Pipe pipe;
    {
        const StandardError changed(pipe.in.get());
        log_line(std::string(10'000, 'a'));
    }
    const std::string text = pipe.drain();
    EXPECT_EQ(text.size(), size_t{PIPE_BUF});
    EXPECT_TRUE(text.ends_with("a\n"));
}

TEST(Offer, WritesAllForASlowReader) {
    const Pipe pipe;
    const std::string text(1 << 20, 'y');
    std::string got;
    std::thread reader([&] {
        while (got.size() < text.size()) {
            std::this_thread::sleep_for(milliseconds(1));
            got += pipe.drain();
        }
    });
    EXPECT_TRUE(offer(pipe.in.get(), text, milliseconds(10'000)));
    reader.join();
    EXPECT_EQ(got, text);
}

TEST(Offer, GivesUpOnAFullPipeAndAClosedDescriptor) {
    const Pipe pipe;
    pipe.fill();
    EXPECT_FALSE(offer(pipe.in.get(), "text", milliseconds(0)));
    EXPECT_FALSE(offer(-1, "text", milliseconds(0)));
}

}  // namespace
}  // namespace blkscope
