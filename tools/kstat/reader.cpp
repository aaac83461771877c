#include "tools/kstat/reader.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <iterator>
#include <thread>

#include "base/throw_errno.hpp"
#include "tools/kstat/decode.hpp"
#include "tools/kstat/select.hpp"

namespace blkscope::kstat_command {
namespace {

constexpr int attempts_max = 50;
constexpr auto pause = std::chrono::milliseconds(200);

// Repeats an attempt that fails with EAGAIN, because the system lacks a resource at the moment.
bool succeeds(const std::function<bool()>& attempt) {
    for (int left = attempts_max; !attempt(); std::this_thread::sleep_for(pause)) {
        if (errno != EAGAIN || --left == 0) return false;
    }
    return true;
}

// The original inserts each element before its equals.
template <class Element, class Before>
void sort_last_first(std::vector<Element>& elements, Before before) {
    std::reverse(elements.begin(), elements.end());
    std::stable_sort(elements.begin(), elements.end(), before);
}

Reading header_of(const kstat_t& ksp) {
    return {.module = field_text(ksp.ks_module),
            .instance = ksp.ks_instance,
            .name = field_text(ksp.ks_name),
            .kstat_class = field_text(ksp.ks_class),
            .type = ksp.ks_type};
}

}  // namespace

void Reader::refresh() {
    if (!kc_) {
        kstat_ctl_t* kc = nullptr;
        if (!succeeds([&] { return (kc = kstat_open()) != nullptr; })) {
            throw_errno("cannot open the kstats");
        }
        kc_.reset(kc);
    }
    auto result = program::Update::failed;
    const auto updated = [&] {
        return (result = program::update(kc_.get())) != program::Update::failed;
    };
    if (!succeeds(updated)) throw_errno("cannot update the kstats");
    is_partial_ = result == program::Update::partial;
}

void Reader::fill(Reading& reading, kstat_t& ksp) {
    const bool read = kstat_read(kc_.get(), &ksp, nullptr) != -1;
    reading.snaptime = ksp.ks_snaptime;
    auto& statistics = reading.statistics;
    statistics.push_back({"crtime", Moment{ksp.ks_crtime}});
    if (read) statistics.push_back({"snaptime", Moment{ksp.ks_snaptime}});
    if (options_.class_listed) statistics.push_back({"class", Text(reading.kstat_class)});
    if (read) std::ranges::move(decode(ksp), std::back_inserter(statistics));
    sort_last_first(statistics, [](const Statistic& one, const Statistic& other) {
        return name_before(one.name, other.name);
    });
}

std::string Reader::named_as_module() const {
    for (const kstat_t* ksp = kc_->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
        if (!is_shown(*ksp)) continue;
        const Reading kstat = header_of(*ksp);
        const bool meant = std::ranges::any_of(options_.selectors, [&](const Selector& selector) {
            return selector.module.matches(kstat.name) && !selector.module.matches(kstat.module);
        });
        if (meant) return kstat.module + ":" + std::to_string(kstat.instance) + ":" + kstat.name;
    }
    return {};
}

std::vector<Reading> Reader::read() {
    refresh();
    std::vector<Reading> readings;
    for (kstat_t* ksp = kc_->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
        if (!is_shown(*ksp)) continue;
        Reading reading = header_of(*ksp);
        if (!wanted(reading, options_)) continue;
        fill(reading, *ksp);
        readings.push_back(std::move(reading));
    }
    sort_last_first(readings, shown_before);
    return readings;
}

}  // namespace blkscope::kstat_command
