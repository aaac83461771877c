// Feeds any text to the parser of an earlier report of iostat -j, and judges by what comes of it.
//
// The parser may refuse a text, by std::invalid_argument and a reason alone. The report of an accepted look is read back as the
// same look. Each finding is one line, whatever names a device and its histograms have. Built twice: with libFuzzer
// (BLKSCOPE_FUZZ), and into a test that runs the corpus and random bytes.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "require.hpp"
#include "tools/check/condition.hpp"
#include "tools/check/earlier_report.hpp"
#include "tools/check/judge.hpp"

namespace {

using namespace blkscope::check;

bool is_one_line(std::string_view text) {
    return !text.empty() && text.find_first_of(std::string_view("\n\r\0\x1b", 4)) == text.npos;
}

void judge_all(const Look& before, const Look& now) {
    static const std::vector<Condition> conditions = [] {
        std::vector<Condition> all;
        for (const char* text :
             {"p99(*.read.service) < 5ms", "p50(*.write.wait) < 1us", "max(*.read.total) < 1s",
              "mean(*.write.total) < 2ms", "count(*.read) > 1", "rate(*) > 0", "errors(*) == 0"}) {
            all.push_back(parse_condition(text));
        }
        return all;
    }();
    for (const Condition& condition : conditions) {
        for (const Finding& finding : judge(condition, before, now)) {
            require(is_one_line(finding.line));
        }
    }
}

Look a_second_after(Look look) {
    constexpr hrtime_t second = 1'000'000'000;
    constexpr hrtime_t last = std::numeric_limits<hrtime_t>::max();
    const auto later = [](hrtime_t time) { return time < last - second ? time + second : last; };
    look.time = later(look.time);
    for (DeviceLook& one : look.devices) {
        one.device.snaptime = later(one.device.snaptime);
        one.device.io.reads += 1;
    }
    return look;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    Look look;
    try {
        look = parse_report(text);
    } catch (const std::invalid_argument& refused) {
        require(!std::string_view(refused.what()).empty());
        return 0;
    }
    const std::string report = report_text(look);
    const Look again = parse_report(report);
    require(again.time == look.time && again.devices.size() == look.devices.size());
    judge_all({}, look);
    judge_all(look, again);
    judge_all(look, a_second_after(look));
    return 0;
}
