#include "kstat/host/host.hpp"

#include "kstat/host/cpu_info.hpp"
#include "kstat/host/cpu_stats.hpp"
#include "kstat/host/disks.hpp"
#include "kstat/host/files.hpp"
#include "kstat/host/system.hpp"

namespace blkscope::kstat::host {

struct Host::Parts {
    explicit Parts(std::string root) : files(std::move(root)) {}

    Files files;
    System system{files};
    CpuInfo cpu_info{files};
    CpuStats cpu_stats{files};
    Disks disks{files};
};

Host::Host(std::string root) : parts_(std::make_unique<Parts>(std::move(root))) {}

Host::~Host() = default;

Host::Key Host::key_of(const Entry& entry) {
    const kstat_t& ks = entry.header;
    const std::string separator = ":";
    return ks.ks_module + separator + std::to_string(ks.ks_instance) + separator + ks.ks_name +
           separator + entry.identity;
}

// A kstat that is found again keeps its number and its header.
std::vector<kstat_t> Host::list() {
    look_anew();
    std::vector<Entry> found;
    parts_->system.list(found);
    parts_->cpu_info.list(found);
    parts_->cpu_stats.list(found);
    parts_->disks.list(found);
    std::map<Key, kid_t> numbers;
    for (Entry& entry : found) {
        const Key key = key_of(entry);
        const auto known = numbers_.find(key);
        const kid_t number = known != numbers_.end() ? known->second : next_;
        if (!numbers.emplace(key, number).second) continue;
        if (number != next_) continue;
        ++next_;
        entry.header.ks_kid = number;
        entries_.emplace(number, std::move(entry));
    }
    for (const auto& [key, number] : numbers_) {
        if (!numbers.contains(key)) entries_.erase(number);
    }
    numbers_ = std::move(numbers);
    std::vector<kstat_t> headers;
    for (const auto& [number, entry] : entries_) headers.push_back(entry.header);
    return headers;
}

std::optional<Data> Host::read(kid_t kid) {
    const auto at = entries_.find(kid);
    if (at == entries_.end()) return std::nullopt;
    if (seen_.contains(kid)) look_anew();
    seen_.insert(kid);
    return at->second.read();
}

void Host::look_anew() {
    seen_.clear();
    parts_->files.look_anew();
}

}  // namespace blkscope::kstat::host
