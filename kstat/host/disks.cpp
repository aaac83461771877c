#include "kstat/host/disks.hpp"

#include <algorithm>

#include "kstat/host/text.hpp"

namespace blkscope::kstat::host {
namespace {

// ",linux" has to fit behind the name.
constexpr size_t name_length_max = KSTAT_STRLEN - 1 - sizeof(",linux") + 1;

// Block devices that are memory or files, not disks.
bool is_disguised(std::string_view name) {
    return name.starts_with("loop") || name.starts_with("ram");
}

// If a name has a slash, /sys has an exclamation mark in its place.
std::string in_sys(std::string name) {
    std::ranges::replace(name, '/', '!');
    return "/sys/block/" + name;
}

std::string kstat_name(const std::string& linux_name) {
    return linux_name.starts_with("nbd") ? "k" + linux_name : linux_name;
}

// A device that did not exist at the last look cannot have been busy for longer than since then.
bool may_be_new(const DiskLine& line, hrtime_t since_last_look) {
    return line.counters[busy_ms] * 1'000'000 <= static_cast<uint64_t>(since_last_look);
}

}  // namespace

void Disks::list(std::vector<Entry>& entries) {
    std::string last_disk;
    std::set<std::string> present;
    for (const DiskLine& line : lines()) {
        if (!present.insert(line.name).second) continue;
        const Device device = place(line, last_disk);
        if (!device.is_partition) last_disk = line.name;
        if (is_shown(device, line)) add(entries, device, line);
    }
    const auto is_gone = [&](const auto& kept) { return !present.contains(kept.first); };
    std::erase_if(memories_, is_gone);
    std::erase_if(histories_, is_gone);
    present_ = std::move(present);
    last_look_ = gethrtime();
}

Disks::Device Disks::place(const DiskLine& line, const std::string& last_disk) const {
    const std::string partition = partition_name(last_disk, line.name);
    if (partition.empty() || files_.exists(in_sys(line.name))) {
        return {kstat_name(line.name), line.name, false};
    }
    return {kstat_name(partition), last_disk, true};
}

// A disk without a size is a drive without a medium, or a device without a connection.
bool Disks::is_shown(const Device& device, const DiskLine& line) const {
    if (is_disguised(line.name) || device.kstat_name.size() > name_length_max) return false;
    const std::string size = files_.read(in_sys(device.whole_disk) + "/size");
    return to_number(trimmed(size)) != 0U;
}

// Kernels before 5.15 have no number of the disk. Counters that begin anew show another disk, too.
std::string Disks::identity(const Device& device, const DiskLine& line) const {
    const std::string sequence = files_.read(in_sys(device.whole_disk) + "/diskseq");
    const auto history = histories_.find(line.name);
    const uint64_t restarts = history != histories_.end() ? history->second.restarts : 0;
    return std::string(trimmed(sequence)) + "." + std::to_string(restarts);
}

// A device keeps its crtime as long as the device exists. 0: the device may be as old as the
// machine's clock.
Disks::Memory& Disks::remember(const Device& device, const DiskLine& line) {
    const std::string sequence = identity(device, line);
    const auto known = memories_.find(line.name);
    const bool is_same = known != memories_.end() && known->second.sequence == sequence;
    if (is_same) return known->second;
    const bool was_replaced = known != memories_.end();
    const bool appeared = last_look_ != 0 && (was_replaced || !present_.contains(line.name));
    Memory memory;
    memory.sequence = sequence;
    if (appeared && may_be_new(line, gethrtime() - last_look_)) memory.crtime = last_look_;
    return memories_.insert_or_assign(line.name, memory).first->second;
}

void Disks::add(std::vector<Entry>& entries, const Device& device, const DiskLine& line) {
    const Memory& memory = remember(device, line);
    const int unit = unit_of(device.whole_disk);
    const char* const klass = device.is_partition ? "partition" : "disk";
    kstat_t io = header("linux", unit, device.kstat_name, klass, KSTAT_TYPE_IO);
    io.ks_crtime = memory.crtime;
    io.ks_ndata = 1;
    io.ks_data_size = sizeof(kstat_io_t);
    // Nothing, if the device was removed or its counters have begun anew.
    const auto reader = [this, name = line.name,
                         began = histories_[line.name].restarts](auto read) {
        return [=, this]() -> std::optional<Data> {
            const DiskLine* const now = find(name);
            if (now == nullptr || histories_[name].restarts != began) return std::nullopt;
            return (this->*read)(*now);
        };
    };
    entries.push_back({io, reader(&Disks::read_io), memory.sequence});
    kstat_t more = header("linux", unit, device.kstat_name + ",linux", "misc", KSTAT_TYPE_NAMED);
    more.ks_crtime = memory.crtime;
    more.ks_flags = KSTAT_FLAG_VIRTUAL | KSTAT_FLAG_VAR_SIZE | KSTAT_FLAG_LONGSTRINGS;
    entries.push_back({more, reader(&Disks::read_details), memory.sequence});
}

// The lines in the file's order: a partition follows its disk.
const std::vector<DiskLine>& Disks::lines() {
    return lines_.get(files_.sweep(), [this] { return look(); });
}

std::vector<DiskLine> Disks::look() {
    std::vector<DiskLine> lines;
    std::set<std::string> seen;
    const std::string kept = files_.read_again("/proc/diskstats");
    std::string_view text = kept;
    while (const auto whole_line = take_line(text)) {
        auto line = parse_disk_line(*whole_line);
        if (!line || !seen.insert(line->name).second) continue;
        History& history = histories_[line->name];
        if (!history.counters.widen(*line)) ++history.restarts;
        lines.push_back(std::move(*line));
    }
    return lines;
}

// Null: the device was removed. The pointer is valid until the next call, which may read the file
// again.
const DiskLine* Disks::find(const std::string& name) {
    const std::vector<DiskLine>& all = lines();
    const auto at = std::ranges::find(all, name, &DiskLine::name);
    return at != all.end() ? &*at : nullptr;
}

std::optional<Data> Disks::read_io(const DiskLine& line) {
    return raw(to_io(line, lines_.taken()), lines_.taken(), 1);
}

std::optional<Data> Disks::read_details(const DiskLine& line) {
    Records records;
    const auto add = [&](const char* record, Counter counter, uint64_t unit) {
        records.add(record, KSTAT_DATA_UINT64, line.counters[counter] * unit);
    };
    records.add_string("device", line.name);
    records.add("major", KSTAT_DATA_UINT32, line.major);
    records.add("minor", KSTAT_DATA_UINT32, line.minor);
    records.add("counters", KSTAT_DATA_UINT32, line.count);
    records.add_string("not_counted", "wtime wlentime wcnt");
    add("reads_merged", reads_merged, 1);
    add("read_ns", read_ms, 1'000'000);
    add("writes_merged", writes_merged, 1);
    add("write_ns", write_ms, 1'000'000);
    add("discards", discards, 1);
    add("discards_merged", discards_merged, 1);
    add("discarded_bytes", sectors_discarded, sector_size);
    add("discard_ns", discard_ms, 1'000'000);
    add("flushes", flushes, 1);
    add("flush_ns", flush_ms, 1'000'000);
    add("queue_ns", queue_ms, 1'000'000);
    return records.finish(lines_.taken());
}

}  // namespace blkscope::kstat::host
