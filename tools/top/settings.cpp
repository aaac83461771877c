#include "tools/top/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "tools/top/text.hpp"

namespace blkscope::top {
namespace {

constexpr std::string_view cut_mark = "...";
constexpr size_t text_width_min = 16;  // with less of the text, the counts would mean nothing

std::string level_text(const LimitBucket& bucket) {
    if (!bucket.name.ends_with("bps")) return std::to_string(bucket.level);
    const auto bytes = static_cast<uint64_t>(bucket.level);
    return bucket.level < 0 ? "-" + size_text(0 - bytes) : size_text(bytes);
}

SettingLine model_line(const ModelSetting& model) {
    SettingLine line{.text = "model " + model.spec,
                     .counts = fmt::format(", overruns {}", model.overruns)};
    if (model.drawn == 0) return line;
    line.counts += ", mean lateness " + latency_text(model.late_ns / model.drawn);
    return line;
}

SettingLine limit_line(const LimitSetting& limit) {
    SettingLine line{.text = "limit " + limit.spec, .counts = ""};
    for (const LimitBucket& bucket : limit.buckets) {
        line.counts += fmt::format(", {} level {} exceeded {}", bucket.name, level_text(bucket),
                                   span_text(static_cast<hrtime_t>(bucket.exceeded_ns)));
    }
    return line;
}

std::string fitting(const SettingLine& line, int columns) {
    const auto room = static_cast<size_t>(std::max(columns, 0));
    const bool fits = line.text.size() + line.counts.size() <= room;
    if (fits || line.counts.size() + text_width_min > room) return line.text + line.counts;
    const size_t kept = room - line.counts.size() - cut_mark.size();
    return line.text.substr(0, kept).append(cut_mark) + line.counts;
}

}  // namespace

SettingLine upstream_line(const Upstream& upstream) {
    SettingLine line{
        .text = "upstream " + upstream.state, .counts = "", .warns = !upstream.is_connected()};
    for (const Upstream::Count& count : upstream.counts) {
        line.counts += fmt::format(", {} {}", count.name, count.value);
    }
    if (upstream.round_trip_ns) {
        line.counts += ", round trip " + latency_text(*upstream.round_trip_ns);
    }
    return line;
}

std::vector<SettingLine> setting_lines(const Settings& settings) {
    std::vector<SettingLine> lines;
    if (settings.upstream) lines.push_back(upstream_line(*settings.upstream));
    if (settings.model) lines.push_back(model_line(*settings.model));
    if (settings.limit) lines.push_back(limit_line(*settings.limit));
    if (settings.client_limit) {
        lines.push_back({.text = "client-limit " + *settings.client_limit, .counts = ""});
    }
    for (const FaultSetting& fault : settings.faults) {
        lines.push_back({.text = fmt::format("fault {}: {}", fault.id, fault.rule),
                         .counts = fmt::format(", hits {}", fault.hits)});
    }
    if (settings.crash_cache) {
        lines.push_back({.text = "crash-cache " + *settings.crash_cache, .counts = ""});
    }
    return lines;
}

int draw_settings(Screen& screen, int top, int rows, const Settings& settings) {
    std::vector<SettingLine> lines = setting_lines(settings);
    const auto places = static_cast<size_t>(std::max(rows, 0));
    if (lines.size() > places) {
        const size_t hidden = lines.size() - places + 1;
        lines.resize(places);
        if (places > 1) {
            lines.back() = {.text = fmt::format("{} more: blkscope list -v", hidden), .counts = ""};
        }
    }
    int y = top;
    for (const SettingLine& line : lines) {
        screen.put(0, y++, fitting(line, screen.size().columns),
                   line.warns ? Role::warning : Role::plain);
    }
    return y - top;
}

}  // namespace blkscope::top
