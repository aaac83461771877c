#include "tools/check/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/result.hpp"
#include "tools/iostat/figures.hpp"
#include "tools/iostat/lateness.hpp"
#include "tools/kstat/glob.hpp"
#include "tools/program/json.hpp"
#include "tools/program/time_text.hpp"

namespace blkscope::check {
namespace {

using iostat::Histogram;
using iostat::Histograms;

constexpr double endless = std::numeric_limits<double>::infinity();

// The measured figure: between the bounds, both included. An exact figure has two equal bounds.
struct Seen {
    double lower;
    double upper;
    std::optional<uint64_t> requests;  // of the interval, that the figure is of
};

// Without a figure, the reason behind the device's name.
using Measured = Result<Seen, std::string>;

Measured exactly(double value, uint64_t requests) {
    return Seen{value, value, requests};
}

// One device between two looks. `before` is null if the device is new.
struct Interval {
    const DeviceLook* before;
    const DeviceLook& now;

    [[nodiscard]] double elapsed_s() const {
        const hrtime_t since = before != nullptr ? before->device.snaptime : now.device.crtime;
        return static_cast<double>(now.device.snaptime - since) / 1e9;
    }

    // Counters of 32 bits may have wrapped.
    [[nodiscard]] uint64_t transfers(bool reads, bool writes) const {
        const kstat_io_t old = before != nullptr ? before->device.io : kstat_io_t{};
        const kstat_io_t& io = now.device.io;
        const uint_t read = io.reads - old.reads;
        const uint_t written = io.writes - old.writes;
        return uint64_t{reads ? read : 0} + uint64_t{writes ? written : 0};
    }
};

// The counts of `now` that were added behind `old`. None if the histogram was made anew between.
std::optional<Histogram> added(const Histogram& old, Histogram now) {
    if (old.crtime != 0 && old.crtime != now.crtime) return {};
    if (old.counts.empty()) return now;
    if (!old.like(now) || old.counts.size() > now.counts.size()) return {};
    for (size_t i = 0; i < old.counts.size(); ++i) {
        if (old.counts[i] > now.counts[i]) return {};
        now.counts[i] -= old.counts[i];
    }
    now.sum = now.sum && old.sum && *now.sum >= *old.sum ? std::optional(*now.sum - *old.sum)
                                                         : std::nullopt;
    return now;
}

// The histogram of that name, of the interval.
Result<Histogram, std::string> histogram_named(const Interval& interval, std::string_view name) {
    const auto now = interval.now.device.histograms.find(name);
    if (now == interval.now.device.histograms.end()) {
        return fmt::format("has no histogram {}; see 'kstat2adm enable blk:hist'", name);
    }
    std::optional<Histogram> since = now->second;
    if (interval.before != nullptr) {
        const auto before = interval.before->device.histograms.find(name);
        if (before == interval.before->device.histograms.end()) {
            return fmt::format("had no histogram {} at first", name);
        }
        since = added(before->second, now->second);
    }
    if (!since) return fmt::format("counts anew in its histogram {}", name);
    return std::move(*since);
}

// The histogram of the interval, of one phase.
Result<Histogram, std::string> histogram_of(const Interval& interval, const std::string& operation,
                                            const std::string& phase) {
    const bool transfers = operation.empty();
    Histograms found;
    for (const std::string& each :
         transfers ? std::vector<std::string>{"read", "write"} : std::vector{operation}) {
        const std::string name = fmt::format("{}_{}", each, phase);
        auto since = histogram_named(interval, name);
        if (!since) return since.error();
        found.emplace(name, std::move(*since));
    }
    if (!transfers) return found.begin()->second;
    return *iostat::of_transfers(found, phase);
}

kstat2::PerMillion share_of(Figure figure) {
    switch (figure) {
        case Figure::p50:
            return kstat2::p50;
        case Figure::p90:
            return kstat2::p90;
        case Figure::p95:
            return kstat2::p95;
        case Figure::p99:
        case Figure::late:
            return kstat2::p99;
        case Figure::p999:
            return kstat2::p999;
        case Figure::p9999:
            return kstat2::p9999;
        default:
            return kstat2::whole;
    }
}

Result<Histogram, std::string> histogram_for(const Condition& condition, const Interval& interval) {
    if (condition.figure != Figure::late) {
        return histogram_of(interval, condition.operation, condition.phase);
    }
    if (!interval.now.device.histograms.contains(iostat::lateness_name)) {
        return std::string("has no model, so nothing plans the end of its requests");
    }
    return histogram_named(interval, iostat::lateness_name);
}

Measured time_of(const Condition& condition, const Interval& interval) {
    const auto histogram = histogram_for(condition, interval);
    if (!histogram) return histogram.error();
    const uint64_t requests = histogram->count();
    if (requests == 0) return std::string("had no such request");
    if (histogram->unit != "ns") return std::string("has its times in an unknown unit");
    if (condition.figure == Figure::mean) {
        if (!histogram->sum) return std::string("has no sum of these times");
        return exactly(static_cast<double>(*histogram->sum) / static_cast<double>(requests),
                       requests);
    }
    const kstat2::Buckets& shape = histogram->shape;
    const auto bucket = kstat2::percentile_bucket(histogram->counts, share_of(condition.figure));
    if (!bucket || *bucket >= shape.count()) return std::string("has more buckets than bounds");
    const auto index = static_cast<uint32_t>(*bucket);
    const bool is_last = index + 1 == shape.count();
    return Seen{static_cast<double>(shape.lower(index)),
                is_last ? endless : static_cast<double>(shape.upper(index)), requests};
}

Result<uint64_t, std::string> count_of(const std::string& operation, const Interval& interval) {
    if (operation.empty()) return interval.transfers(true, true);
    if (operation == "read" || operation == "write") {
        return interval.transfers(operation == "read", operation == "write");
    }
    const auto histogram = histogram_of(interval, operation, "total");
    if (!histogram) return histogram.error();
    return histogram->count();
}

double bytes_of(const std::string& operation, const Interval& interval) {
    const kstat_io_t old = interval.before != nullptr ? interval.before->device.io : kstat_io_t{};
    const kstat_io_t& io = interval.now.device.io;
    double bytes = 0;
    if (operation != "write") bytes += static_cast<double>(io.nread - old.nread);
    if (operation != "read") bytes += static_cast<double>(io.nwritten - old.nwritten);
    return bytes;
}

// Soft, hard and transport errors, as the column `tot` of iostat -e. For devices that do not count
// by operation.
Result<uint64_t, std::string> errors_in_kstat(const Interval& interval) {
    const iostat::ErrorRecords& now = interval.now.device.errors;
    if (now.empty()) return std::string("does not count its errors");
    uint64_t sum = 0;
    for (size_t i = 0; i < 3; ++i) {
        const uint32_t old =
            interval.before != nullptr ? iostat::error_count(interval.before->device.errors, i) : 0;
        const uint32_t since = iostat::error_count(now, i) - old;
        sum += since;
    }
    return sum;
}

// Requests that never began, and so have no operation's count.
uint32_t refused(const Interval& interval) {
    const auto count = [](const DeviceLook& look) {
        return iostat::error_count(look.device.errors, iostat::refused_requests);
    };
    return count(interval.now) - (interval.before != nullptr ? count(*interval.before) : 0);
}

// The requests that failed, of one operation or of all. A fault that is injected counts here, and
// need not count in the error kstat.
Result<uint64_t, std::string> errors_of(const std::string& operation, const Interval& interval) {
    const auto& now = interval.now.commands;
    if (operation.empty() && now.empty()) return errors_in_kstat(interval);
    uint64_t sum = 0;
    bool any = false;
    for (const auto& [name, count] : now) {
        if (operation.empty() ? !name.ends_with("_errors") : name != operation + "_errors")
            continue;
        any = true;
        uint64_t old = 0;
        if (interval.before != nullptr) {
            const auto before = interval.before->commands.find(name);
            if (before == interval.before->commands.end()) {
                return std::string("has no errors by operation in its first look; see --save");
            }
            old = before->second;
        }
        if (old > count) return std::string("counts its errors anew");
        sum += count - old;
    }
    if (operation.empty()) {
        if (interval.before != nullptr &&
            interval.before->device.errors.empty() != interval.now.device.errors.empty()) {
            return std::string("has its refused requests in one look only; see --save");
        }
        sum += refused(interval);
    }
    if (!any) return std::string("does not count its errors by operation");
    return sum;
}

Measured queue_figure(Figure figure, const Interval& interval) {
    const iostat::Device* before = interval.before != nullptr ? &interval.before->device : nullptr;
    const iostat::Figures f = iostat::figures(before, interval.now.device, {});
    const uint64_t requests = interval.transfers(true, true);
    // A device that hangs has requests in its queues, and none that ended.
    if (requests == 0 && f.wait == 0 && f.actv == 0) return std::string("was idle");
    if (figure == Figure::wait) return exactly(f.wait, requests);
    return exactly(figure == Figure::actv ? f.actv : f.b_percent, requests);
}

Measured measure(const Condition& condition, const Interval& interval) {
    if (is_time(condition.figure) || condition.figure == Figure::late) {
        return time_of(condition, interval);
    }
    const auto requests = count_of(condition.operation, interval);
    const double elapsed_s = interval.elapsed_s();
    switch (condition.figure) {
        case Figure::errors: {
            const auto errors = errors_of(condition.operation, interval);
            if (!errors) return errors.error();
            const auto value = static_cast<double>(*errors);
            return Seen{value, value, requests ? std::optional(*requests) : std::nullopt};
        }
        case Figure::count:
            if (!requests) return requests.error();
            return exactly(static_cast<double>(*requests), *requests);
        case Figure::rate:
            if (!requests) return requests.error();
            if (elapsed_s <= 0) return std::string("was looked at twice at one moment");
            return exactly(static_cast<double>(*requests) / elapsed_s, *requests);
        case Figure::bps:
            if (elapsed_s <= 0) return std::string("was looked at twice at one moment");
            return exactly(bytes_of(condition.operation, interval) / elapsed_s, *requests);
        default:
            if (elapsed_s <= 0) return std::string("was looked at twice at one moment");
            return queue_figure(condition.figure, interval);
    }
}

// Whether the condition holds for each value between the bounds. None if it holds for some.
std::optional<bool> compare(const Seen& seen, Comparison comparison, double bound) {
    const auto decide = [](bool for_all, bool for_none) {
        return for_all || for_none ? std::optional(for_all) : std::nullopt;
    };
    const bool is_bound = seen.lower == bound && seen.upper == bound;
    const bool is_other = seen.lower > bound || seen.upper < bound;
    switch (comparison) {
        case Comparison::less:
            return decide(seen.upper < bound, seen.lower >= bound);
        case Comparison::at_most:
            return decide(seen.upper <= bound, seen.lower > bound);
        case Comparison::more:
            return decide(seen.lower > bound, seen.upper <= bound);
        case Comparison::at_least:
            return decide(seen.lower >= bound, seen.upper < bound);
        case Comparison::equal:
            return decide(is_bound, is_other);
        case Comparison::different:
            return decide(is_other, is_bound);
    }
    return {};
}

std::string time_text(double ns) {
    return program::time_text(ns, 6);
}

std::string value_text(double value, Figure figure) {
    if (is_time(figure) || figure == Figure::late) return time_text(value);
    switch (figure) {
        case Figure::rate:
            return fmt::format("{:.6g}/s", value);
        case Figure::bps:
            return fmt::format("{:.0f} bytes/s", value);
        case Figure::busy:
            return fmt::format("{:.4g}%", value);
        case Figure::wait:
        case Figure::actv:
            return fmt::format("{:.4g}", value);
        default:
            return fmt::format("{:.0f}", value);
    }
}

// The upper bound of a bucket is its last nanosecond; the text has the first one behind it.
std::string seen_text(const Seen& seen, Figure figure) {
    if (is_time(figure) || figure == Figure::late) {
        if (seen.lower == seen.upper) return time_text(seen.lower);
        if (seen.upper == endless) return time_text(seen.lower) + " or more";
        return fmt::format("{} to below {}", time_text(seen.lower), time_text(seen.upper + 1));
    }
    return value_text(seen.lower, figure);
}

// By how much a condition fails. Of a bucket it is the least that it can be.
std::string beyond_text(const Seen& seen, const Condition& condition) {
    const double bound = condition.bound;
    const bool wants_less =
        condition.comparison == Comparison::less || condition.comparison == Comparison::at_most;
    const bool wants_more =
        condition.comparison == Comparison::more || condition.comparison == Comparison::at_least;
    double distance = std::max(seen.lower - bound, bound - seen.upper);
    if (wants_less) distance = seen.lower - bound;
    if (wants_more) distance = bound - seen.upper;
    if (condition.comparison == Comparison::different || distance <= 0) return "at the bound";
    std::string text = seen.lower == seen.upper ? "" : "at least ";
    text += value_text(distance, condition.figure);
    if (bound > 0 && distance <= 10 * bound) {
        text += fmt::format(" ({:.3g} %)", distance / bound * 100);
    } else if (bound > 0) {
        text +=
            fmt::format(" ({:.3g} times)", (seen.lower < bound ? seen.upper : seen.lower) / bound);
    }
    const bool is_below = seen.upper < bound;
    return text + (is_below ? " below the bound" : " above the bound");
}

// The line about the server's own lateness, if that shows in the condition's figure.
std::string late_text(const Condition& condition, const Interval& interval) {
    const bool is_of_times = is_time(condition.figure);
    const bool is_count = condition.figure == Figure::count || condition.figure == Figure::errors ||
                          condition.figure == Figure::late;
    const auto lateness = histogram_named(interval, iostat::lateness_name);
    const auto times = histogram_of(interval, is_of_times ? condition.operation : "",
                                    is_of_times ? condition.phase : "total");
    if (is_count || !lateness || !times) return {};
    const bool has_share = is_of_times && condition.figure != Figure::mean;
    const bool shows = has_share
                           ? iostat::is_noticeable(*lateness, *times, share_of(condition.figure))
                           : iostat::is_noticeable_in_mean(*lateness, *times);
    if (!shows) return {};
    return program::shown(interval.now.device.name) + ": " + iostat::lateness_text(*lateness);
}

Finding unmeasured(const Condition& condition, const std::string& device, const std::string& why) {
    const std::string name = device.empty() ? "" : program::shown(device) + " ";
    return {.verdict = Verdict::unmeasured,
            .line = fmt::format("nothing to measure: {}: {}{}", program::shown(condition.text),
                                name, why),
            .condition = condition.text,
            .device = device};
}

Finding finding_of(const Condition& condition, const Interval& interval) {
    const std::string name = program::shown(interval.now.device.name);
    const Measured seen = measure(condition, interval);
    if (!seen) return unmeasured(condition, interval.now.device.name, seen.error());
    const std::optional<bool> holds = compare(*seen, condition.comparison, condition.bound);
    std::string text = fmt::format("{} {}", name, seen_text(*seen, condition.figure));
    if (seen->requests && condition.figure != Figure::count) {
        text += fmt::format(", {} request{}", *seen->requests, *seen->requests == 1 ? "" : "s");
    }
    const char* const verdict = !holds ? "cannot tell" : *holds ? "true" : "false";
    const auto beyond = [&] {
        if (holds.value_or(false)) return std::string();
        return holds ? beyond_text(*seen, condition) : "the bound is inside the bucket";
    };
    return {.verdict = holds.value_or(false) ? Verdict::holds : Verdict::fails,
            .line = fmt::format("{}: {}: {}", verdict, program::shown(condition.text), text),
            .condition = condition.text,
            .device = interval.now.device.name,
            .beyond = beyond(),
            .late = late_text(condition, interval)};
}

// The device of the other look. The name of a device changes when another provider with that name comes
// or closes. Then the time of its creation tells that the device is the same one.
const DeviceLook* find_same(const Look& look, const iostat::Device& device) {
    const std::string name = iostat::without_provider(device.name);
    const DeviceLook* found = nullptr;
    int most = 0;
    for (const DeviceLook& one : look.devices) {
        if (one.device.module != device.module || one.device.instance != device.instance) continue;
        if (iostat::without_provider(one.device.name) != name) continue;
        const int likeness =
            (one.device.crtime == device.crtime ? 2 : 0) + (one.device.name == device.name ? 1 : 0);
        if (likeness > most) found = &one;
        most = std::max(most, likeness);
    }
    return found;
}

class Pattern {
  public:
    explicit Pattern(const std::string& devices)
        : pattern_(devices), has_comma_(devices.find(',') != std::string::npos) {}

    bool operator()(const iostat::Device& device) const {
        if (!has_comma_ && device.name.find(',') != std::string::npos) return false;
        const std::string name = iostat::without_provider(device.name);
        return pattern_.matches(device.name) || pattern_.matches(name) ||
               pattern_.matches(iostat::name_at(name, device.provider));
    }

  private:
    kstat_command::Glob pattern_;
    bool has_comma_;
};

std::optional<std::string> mistake_of(const Condition& condition, const Look& look) {
    return word_mistake(condition, [&](const std::string& devices) {
        return std::ranges::any_of(look.devices, Pattern(devices), &DeviceLook::device);
    });
}

}  // namespace

std::vector<Finding> judge(const Condition& condition, const Look& before, const Look& now) {
    const Pattern matches(condition.devices);
    std::vector<Finding> findings;
    for (const DeviceLook& one : before.devices) {
        if (!matches(one.device) || find_same(now, one.device) != nullptr) continue;
        findings.push_back(unmeasured(condition, one.device.name, "was removed"));
    }
    for (const DeviceLook& one : now.devices) {
        const DeviceLook* const earlier = find_same(before, one.device);
        if (!matches(one.device) && (earlier == nullptr || !matches(earlier->device))) continue;
        const std::string& name = one.device.name;
        if (earlier != nullptr && earlier->device.crtime != one.device.crtime) {
            findings.push_back(unmeasured(condition, name, "was removed and made anew"));
        } else if (earlier == nullptr && one.device.crtime < before.time) {
            findings.push_back(unmeasured(condition, name, "was not in the first look"));
        } else {
            findings.push_back(finding_of(condition, {earlier, one}));
        }
    }
    if (findings.empty()) {
        findings.push_back(
            unmeasured(condition, "",
                       mistake_of(condition, now)
                           .value_or("no device matches; 'blkscope list' shows those that are "
                                     "served")));
    }
    return findings;
}

program::Json json_of(const Finding& one) {
    using program::Json;
    const bool is_measured = one.verdict != Verdict::unmeasured;
    return {{"condition", one.condition},
            {"device", one.device.empty() ? Json() : Json(one.device)},
            {"holds", is_measured ? Json(one.verdict == Verdict::holds) : Json()},
            {"beyond", one.beyond.empty() ? Json() : Json(one.beyond)},
            {"line", one.line}};
}

void require_known_words(const std::vector<Condition>& conditions, const Look& look) {
    for (const Condition& condition : conditions) {
        const auto mistake = mistake_of(condition, look);
        if (!mistake) continue;
        throw std::invalid_argument(
            fmt::format("check: condition {}: {}", program::json_string(condition.text), *mistake));
    }
}

std::string unread_text(const std::string& what) {
    return "nothing to measure: " + program::shown(what) + " could not be read";
}

}  // namespace blkscope::check
