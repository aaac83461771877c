// Files that are no traces are refused by what they are. The texts are those of the programs themselves.
#include "trace/foreign.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trace/readers.hpp"

namespace blkscope::trace {
namespace {

using namespace std::string_literals;

std::string answer_to(const std::string& file) {
    const auto trace = decode_any(std::as_bytes(std::span(file)));
    return trace.has_value() ? "read" : trace.error();
}

TEST(TraceForeign, AFileIsRefusedByWhatItIs) {
    const std::vector<std::pair<std::string, std::string>> files{
        {"\x1f\x8b\x08\0\0\0"s, "gzip"},
        {"\x28\xb5\x2f\xfd\x04"s, "zstd"},
        {"BZh91AY&SY", "bzip2"},
        {"\xd4\xc3\xb2\xa1\x02\0\x04\0"s, "capture of a network"},
        {"\x0a\x0d\x0d\x0a\x1c\0\0\0"s, "capture of a network"},
        {"PERFILE2h\0\0\0"s, "perf"},
        {"SQLite format 3\0\x10"s, "SQLite"},
        {"\xff\xfeo\0p\0,\0"s, "UTF-16"},
        {"  8,16   1        1     0.000000000  4162  Q   R 0 + 8 [fio]\n"
         "  8,16   1        2     0.000001250  4162  G   R 0 + 8 [fio]\n",
         "the text of blkparse"},
        {"259,0    3        1     0.000000000   697  D  WS 223490 + 8 [kworker/3:1H]\r\n",
         "the text of blkparse"},
        {"; a job\n[global]\nioengine = libaio\n[seq]\nrw=read\n", "a job file of fio"},
        {"3;fio-3.33;seq;0;0;1048576;104025;26006;10080;5;100\n", "fio's terse output"},
        {"seq: (g=0): rw=read, bs=(R) 4096B-4096B, (W) 4096B-4096B, ioengine=psync, iodepth=1\n"
         "fio-3.33\nStarting 1 process\n",
         "the text that fio prints"},
        {"fio: terminating on signal 2\n{\n  \"fio version\" : \"fio-3.33\",\n", "fio's report"},
        {"1 /dev/sda add\n1 /dev/sda open\n5 /dev/sda read 0 4096\n", "without its first line"},
        {"12, 104552, 0, 4096, 0\n13, 98000, 1, 4096, 4096, 0\n", "a log of figures"},
        {"<!DOCTYPE html>\n<script id=\"data\">{\"schema\":\"blkscope.report/1\"}</script>",
         "'blkscope report --compare' reads it"},
        {"{\"schema\":\"blkscope.report/1\",\"devices\":[]}",
         "'blkscope report --compare' reads it"},
        {"{\"schema\":\"blkscope.comparison/1\",\"before\":{\"schema\":\"blkscope.report/1\"}}",
         "a comparison of"},
        {"{\"schema\":\"blkscope.check/1\",\"status\":0}\n", "verdicts of 'blkscope check --json'"},
        {"{\"schema\":\"blockdev.iostat/1\",\"devices\":[]}\n",
         "'blkscope check --since' reads it"},
        {"{\"schema\":\"blkscope.trace/1\",\"requests\":0}\n", "save it as csv"},
        {"[\n{\"ph\":\"b\",\"id\":1}\n]\n", "Perfetto"},
        {"                    extended device statistics\n", "the text of iostat"},
        {"Linux 6.1.0-18-amd64 (host) \t11/29/26 \t_x86_64_\t(2 CPU)\n\navg-cpu:  %user   %nice\n",
         "the text of iostat"},
        {"12:00:00.1 pread64(3, \"\", 4096, 0) = 4096 <0.000012>\n", "strace"},
        {"<html><body></body></html>", "a page of HTML"}};
    for (const auto& [file, what] : files) {
        EXPECT_NE(answer_to(file).find(what), std::string::npos) << answer_to(file) << "\n" << file;
    }
}

TEST(TraceForeign, OfOtherFilesNothingIsKnown) {
    for (const char* text : {"", "a text, with a comma\n", "1,2\n", "[a]\nb\n", "8,16 of them\n"}) {
        EXPECT_EQ(foreign_kind(text), "") << text;
    }
}

}  // namespace
}  // namespace blkscope::trace
