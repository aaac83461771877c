// Feeds any bytes to the parser of conditions, and judges devices by what comes of it.
//
// The parser may refuse them, by std::invalid_argument and one line alone. A condition that was
// accepted is accepted again as it is stored, and means the same. Built twice: with libFuzzer
// (BLKSCOPE_FUZZ), and into a test that runs the corpus and random bytes.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "require.hpp"
#include "tools/check/condition.hpp"
#include "tools/check/judge.hpp"

namespace {

using namespace blkscope::check;

bool is_one_line(std::string_view text) {
    return !text.empty() && text.find_first_of(std::string_view("\n\r\0\x1b", 4)) == text.npos;
}

Look look_at(hrtime_t time, blkscope::iostat::Histogram times) {
    times.sum = 1000 * times.count();
    DeviceLook nbd0{.device = {}, .commands = {{"read_errors", 1}}};
    nbd0.device.name = "nbd0";
    nbd0.device.snaptime = time;
    nbd0.device.io.reads = static_cast<uint_t>(times.count());
    for (const char* name : {"read_total", "write_total", "read_wait", "write_wait"}) {
        nbd0.device.histograms.emplace(name, times);
    }
    return {.time = time, .devices = {nbd0}};
}

void judge_by(const Condition& condition) {
    blkscope::iostat::Histogram times{
        .shape = {KSTAT2_NVHIST_LOG2, 0, 0, 0}, .counts = {1, 2, 3}, .unit = "ns"};
    const Look before = look_at(1'000'000'000, times);
    times.counts = {1, 2, 3, 4, 5};
    for (const Finding& finding : judge(condition, before, look_at(2'000'000'000, times))) {
        require(is_one_line(finding.line));
    }
}

void parse_again(const Condition& condition) {
    const Condition again = parse_condition(condition.text);
    require(again.figure == condition.figure && again.comparison == condition.comparison);
    require(again.devices == condition.devices && again.operation == condition.operation);
    require(again.phase == condition.phase && again.bound == condition.bound);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    Condition condition;
    try {
        condition = parse_condition(text);
    } catch (const std::invalid_argument& refused) {
        require(is_one_line(refused.what()));
        return 0;
    }
    require(std::isfinite(condition.bound) && condition.bound >= 0 && !condition.devices.empty());
    require(condition.phase.empty() != is_time(condition.figure));
    parse_again(condition);
    judge_by(condition);
    return 0;
}
