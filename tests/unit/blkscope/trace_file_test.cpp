// Files of traces that a command names: blktrace has several for one trace.
#include "tools/blkscope/trace_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

#include "temporary_folder.hpp"
#include "trace/formats.hpp"

namespace blkscope {
namespace {

bool has_note(const trace::Trace& trace, const std::string& words) {
    return std::ranges::any_of(trace.notes, [&](const std::string& note) {
        return note.find(words) != std::string::npos;
    });
}

class TraceFiles : public testing::Test {
  protected:
    /// A trace of three reads, the middle one on another processor.
    TraceFiles() {
        trace::Trace trace;
        for (int64_t i = 0; i < 3; ++i) {
            trace.requests.push_back({.queued = 1000 + i,
                                      .started = 2000 + i,
                                      .finished = 3000 + i,
                                      .offset = static_cast<uint64_t>(i) * 4096,
                                      .bytes = 4096,
                                      .worker = static_cast<uint16_t>(i % 2 == 0 ? 0 : 11)});
        }
        for (const auto& [processor, bytes] : trace::to_blktrace(trace)) write(processor, bytes);
        write(3, "");
    }

    void write(int processor, const std::string& bytes) const {
        std::ofstream(file_of(processor), std::ios::binary) << bytes;
    }
    [[nodiscard]] std::string file_of(int processor) const {
        return name() + ".blktrace." + std::to_string(processor);
    }
    [[nodiscard]] std::string name() const { return folder_ / "sda"; }

    test::TemporaryFolder folder_;
};

TEST_F(TraceFiles, AllProcessorsFilesAreOneTrace) {
    std::ofstream(folder_ / "sda.blktrace.old") << "no trace";
    std::ofstream(folder_ / "sdaa.blktrace.0") << "no trace";
    const trace::Trace trace = read_trace_file(name());
    EXPECT_EQ(trace.requests.size(), 3u);
    EXPECT_FALSE(has_note(trace, "files of a trace"));
}

TEST_F(TraceFiles, EachFileMayBeCut) {
    std::ofstream(file_of(0), std::ios::binary | std::ios::app) << std::string(5, '\0');
    std::ofstream(file_of(11), std::ios::binary | std::ios::app) << std::string(7, '\0');
    const trace::Trace trace = read_trace_file(name());
    EXPECT_EQ(trace.requests.size(), 3u);
    EXPECT_TRUE(has_note(trace, "its last 12 bytes"));
}

TEST_F(TraceFiles, OneOfThemNamesTheOthers) {
    const trace::Trace trace = read_trace_file(file_of(0));
    EXPECT_EQ(trace.requests.size(), 2u);
    EXPECT_TRUE(has_note(trace, "one of the 2 files of a trace; name " + name()));
    std::filesystem::remove(file_of(11));
    EXPECT_FALSE(has_note(read_trace_file(file_of(0)), "files of a trace"));
}

TEST_F(TraceFiles, ADamagedOneIsRefused) {
    write(11, "neither events nor anything else of blktrace, but long enough for one");
    EXPECT_THROW((void)read_trace_file(name()), std::runtime_error);
}

TEST_F(TraceFiles, WithoutAnyTheFileIsMissing) {
    EXPECT_THROW((void)read_trace_file(folder_ / "sdb"), std::system_error);
}

}  // namespace
}  // namespace blkscope
