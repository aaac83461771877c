#include "tools/blkscope/trace_part.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "tools/blkscope/hex.hpp"
#include "tools/blkscope/server_answer.hpp"
#include "trace/file.hpp"
#include "trace/record.hpp"

namespace blkscope {
namespace {

std::vector<trace::Request> requests_of(const std::string& hex) {
    std::vector<trace::Request> requests;
    const auto bytes = bytes_of_hex(hex);
    if (!bytes || bytes->size() % trace::record_bytes != 0) refuse_answer("no records");
    for (size_t at = 0; at < bytes->size(); at += trace::record_bytes) {
        const std::span<const std::byte> record(bytes->data() + at, trace::record_bytes);
        auto request = trace::decode(record.first<trace::record_bytes>());
        if (!request) refuse_answer(request.error());
        requests.push_back(*request);
    }
    return requests;
}

}  // namespace

TraceStart trace_start_of(const StrictJson& answer) try {
    TraceStart start{
        .heads = heads_of(answer),
        .realtime_ns = time_at(answer, "realtime_ns"),
        .properties = answer.at("properties").get<std::map<std::string, std::string>>()};
    if (!trace::may_have(start.properties)) refuse_answer("properties that no trace has");
    return start;
} catch (const StrictJson::exception& error) {
    refuse_answer(error.what());
}

RecorderHeads heads_of(const StrictJson& answer) try {
    const StrictJson& told = answer.at("next");
    const auto whole = [](const StrictJson& head) { return head.is_number_integer() && head >= 0; };
    if (!told.is_array() || !std::ranges::all_of(told, whole)) refuse_answer("next has no numbers");
    return told.get<RecorderHeads>();
} catch (const StrictJson::exception& error) {
    refuse_answer(error.what());
}

TracePart trace_part_of(const StrictJson& answer, const RecorderHeads& from) try {
    TracePart part{.next = heads_of(answer),
                   .lost = count_at(answer, "lost"),
                   .requests = requests_of(answer.at("records").get<std::string>())};
    if (!reaches(part.next, from)) refuse_answer("its records run backwards");
    return part;
} catch (const StrictJson::exception& error) {
    refuse_answer(error.what());
}

uint64_t records_between(const RecorderHeads& from, const RecorderHeads& to) {
    uint64_t passed = 0;
    for (size_t i = 0; i < to.size(); ++i) passed += to[i] - (i < from.size() ? from[i] : 0);
    return passed;
}

bool reaches(const RecorderHeads& from, const RecorderHeads& heads) {
    for (size_t i = 0; i < heads.size(); ++i) {
        if (i >= from.size() || from[i] < heads[i]) return false;
    }
    return true;
}

}  // namespace blkscope
