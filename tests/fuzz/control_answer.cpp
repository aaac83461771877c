// Feeds any line to the commands that read a server's answer. Root asks the servers of all users.
//
// A command may refuse the answer, by std::runtime_error or std::invalid_argument and one line alone. No text of an accepted
// answer moves a terminal's cursor. A trace of it can be written to a file and read back. Built twice: with libFuzzer
// (BLKSCOPE_FUZZ), and into a test that runs the corpus and random bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "require.hpp"
#include "tools/blkscope/server_answer.hpp"
#include "tools/blkscope/slow_look.hpp"
#include "tools/blkscope/trace_part.hpp"
#include "trace/file.hpp"
#include "trace/formats.hpp"
#include "trace/model_state.hpp"

namespace {

using namespace blkscope;

void check_texts(const StrictJson& json) {
    if (json.is_string()) require(is_printable(json.get<std::string>()));
    if (!json.is_structured()) return;
    for (const auto& [key, value] : json.items()) {
        require(is_printable(key));
        check_texts(value);
    }
}

// Runs a command's part. A refusal ends that command alone.
template <class Use>
void use(Use part) try {
    part();
} catch (const std::runtime_error& refused) {
    require(is_printable(refused.what()));
} catch (const std::invalid_argument& refused) {
    require(is_printable(refused.what()));
}

// The trace as `blkscope trace` writes it.
void write(trace::Trace trace) {
    trace::sort_by_arrival(trace.requests);
    trace::settle(trace);
    const std::string file = trace::encode_file(trace);
    const auto again = trace::decode_file(std::as_bytes(std::span(file)));
    require(again && again->requests == trace.requests && again->properties == trace.properties);
    require(!trace::to_csv(trace).empty() && !trace::to_json(trace).empty());
    static_cast<void>(trace::state_of(trace.properties));
}

void read_slow(const StrictJson& answer) {
    const std::string lines = text_of(slow_look_of(answer), SlowLines::short_ones) +
                              text_of(slow_look_of(answer), SlowLines::long_ones);
    std::string without_ends = lines;
    std::erase(without_ends, '\n');
    require(is_printable(without_ends));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string line(reinterpret_cast<const char*>(data), size);
    use([&] {
        const StrictJson answer = parse_answer(line);
        check_texts(answer);
        use([&] { read_slow(answer); });
        use([&] {
            const TraceStart start = trace_start_of(answer);
            write({.properties = start.properties,
                   .lost = 0,
                   .realtime_ns = start.realtime_ns,
                   .requests = {}});
        });
        use([&] {
            const RecorderHeads from{5, 7};
            const TracePart part = trace_part_of(answer, from);
            require(reaches(part.next, from));
            require(!reaches(from, part.next) || records_between(from, part.next) == 0);
            write(
                {.properties = {}, .lost = part.lost, .realtime_ns = 0, .requests = part.requests});
        });
    });
    return 0;
}
