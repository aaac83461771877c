#include "tools/top/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "kstat/histogram/percentiles.hpp"
#include "tools/iostat/changes.hpp"

namespace blkscope::top {
namespace {

constexpr int message_looks = 10;

struct SortRule {
    const char* text;
    double iostat::Figures::*figure;  // null: sorted by name
};

// The rules in the order of SortKey.
constexpr std::array sort_rules{
    SortRule{"name", nullptr},
    SortRule{"r/s+w/s", &iostat::Figures::transfers},
    SortRule{"wait", &iostat::Figures::wait},
    SortRule{"wsvc_t", &iostat::Figures::wsvc_t},
    SortRule{"asvc_t", &iostat::Figures::asvc_t},
    SortRule{"%b", &iostat::Figures::b_percent},
};

const SortRule& rule(SortKey key) {
    return sort_rules[static_cast<size_t>(key)];
}

iostat::Snapshot devices_of(const Look& look) {
    iostat::Snapshot devices;
    for (const DeviceLook& one : look.devices) devices.push_back(one.device);
    return devices;
}

// The requests completed between two looks. A histogram created between the looks has counted only
// in that time. For other histograms without an earlier look, the counts have no known time.
Column column_between(const DeviceLook* before, const DeviceLook& now, hrtime_t last_look,
                      hrtime_t elapsed_ns) {
    Column column{.elapsed_ns = elapsed_ns};
    const Latencies& latencies = now.latencies;
    const bool goes_on = before != nullptr && before->latencies.bounds != nullptr &&
                         before->latencies.crtime == latencies.crtime;
    if (goes_on) {
        column.wait = kstat2::difference(before->latencies.wait, latencies.wait);
        column.service = kstat2::difference(before->latencies.service, latencies.service);
        column.receive = kstat2::difference(before->latencies.receive, latencies.receive);
        column.reply = kstat2::difference(before->latencies.reply, latencies.reply);
    } else if (last_look != 0 && latencies.crtime > last_look) {
        column.wait = latencies.wait;
        column.service = latencies.service;
        column.receive = latencies.receive;
        column.reply = latencies.reply;
    } else {
        return column;
    }
    column.bounds = latencies.bounds;
    return column;
}

template <class Wanted>
std::vector<const Tracked*> sorted(const Model& model, SortKey key, Wanted wanted) {
    std::vector<const Tracked*> devices;
    for (const Tracked& tracked : model.devices()) {
        if (wanted(tracked)) devices.push_back(&tracked);
    }
    const auto figure = rule(key).figure;
    // Stable, so that devices with equal figures stay in the order of their names.
    std::ranges::stable_sort(devices, [&](const Tracked* one, const Tracked* other) {
        if (one->is_gone() != other->is_gone()) return other->is_gone();
        return figure != nullptr && one->figures.*figure > other->figures.*figure;
    });
    return devices;
}

}  // namespace

iostat::Options column_options() {
    iostat::Options options;
    options.mode = iostat::Mode::extended;
    options.names_last = true;
    options.microseconds = true;
    return options;
}

bool Tracked::is_stuck() const {
    return !since_creation && figures.transfers == 0 && figures.actv >= 0.99 &&
           figures.b_percent >= 99;
}

bool is_client(const Tracked& tracked) {
    return tracked.last.device.kind == iostat::Kind::client;
}

// The device of an earlier look that `device` continues. A device that was created anew is the
// same.
std::vector<Tracked>::iterator Model::find(const iostat::Device& device) {
    const auto device_of = [](const Tracked& tracked) -> const iostat::Device& {
        return tracked.last.device;
    };
    return iostat::find_earlier(devices_, device_of, device, present_);
}

void Model::take(const Look& look) {
    if (message_age_looks_++ >= message_looks) message_.clear();
    tell_changes(look);
    const hrtime_t elapsed_ns = time_ == 0 ? 0 : look.time - time_;
    age_the_missing(look, elapsed_ns);
    for (const DeviceLook& one : look.devices) take_device(one, elapsed_ns);
    std::ranges::sort(devices_, [](const Tracked& one, const Tracked& other) {
        return iostat::compare_names(one.name(), other.name()) < 0;
    });
    time_ = look.time;
}

void Model::tell(std::string message) {
    message_ = std::move(message);
    message_age_looks_ = 0;
}

void Model::take_device(const DeviceLook& look, hrtime_t elapsed_ns) {
    const auto known = find(look.device);
    const bool seen_before = known != devices_.end();
    Tracked* found = seen_before ? &*known : &devices_.emplace_back();
    const DeviceLook* before = seen_before ? &found->last : nullptr;
    const bool same_life = seen_before && before->device.crtime == look.device.crtime;
    found->figures =
        iostat::figures(seen_before ? &before->device : nullptr, look.device, column_options());
    found->since_creation = !same_life;
    if (elapsed_ns > 0) found->history.add(column_between(before, look, time_, elapsed_ns));
    found->last = look;
    found->looks_gone = 0;
}

void Model::age_the_missing(const Look& look, hrtime_t elapsed_ns) {
    std::set<const Tracked*> continued;
    for (const DeviceLook& one : look.devices) {
        if (const auto found = find(one.device); found != devices_.end()) continued.insert(&*found);
    }
    for (Tracked& tracked : devices_) {
        if (continued.contains(&tracked)) continue;
        ++tracked.looks_gone;
        tracked.figures = {};
        tracked.history.add({.elapsed_ns = elapsed_ns});
    }
    std::erase_if(devices_, [](const Tracked& t) { return t.looks_gone > looks_kept; });
}

void Model::tell_changes(const Look& look) {
    iostat::Snapshot present = devices_of(look);
    if (time_ != 0) {
        news_ = fmt::format("{}", fmt::join(iostat::device_changes(present_, present), "; "));
        if (!news_.empty()) tell(news_);
    }
    present_ = std::move(present);
}

const char* sort_key_text(SortKey key) {
    return rule(key).text;
}

SortKey next_sort_key(SortKey key) {
    return static_cast<SortKey>((static_cast<size_t>(key) + 1) % sort_rules.size());
}

std::vector<const Tracked*> sorted_devices(const Model& model, SortKey key) {
    return sorted(model, key, [](const Tracked& tracked) { return !is_client(tracked); });
}

std::vector<const Tracked*> sorted_clients(const Model& model, const Tracked& device, SortKey key) {
    const std::string prefix = device.name() + ",";
    return sorted(model, key, [&](const Tracked& tracked) {
        return is_client(tracked) && tracked.name().starts_with(prefix);
    });
}

}  // namespace blkscope::top
