#include "kstat/host/cpu_info.hpp"

#include <sys/utsname.h>

#include <algorithm>

#include "kstat/host/cpu_stats.hpp"
#include "kstat/host/text.hpp"

namespace blkscope::kstat::host {
namespace {

const std::string cpuinfo_path = "/proc/cpuinfo";

// The value of a "key : value" line.
std::string_view field(std::string_view block, std::string_view key) {
    while (const auto line = take_line(block)) {
        const size_t colon = line->find(':');
        if (colon == std::string_view::npos || trimmed(line->substr(0, colon)) != key) continue;
        return trimmed(line->substr(colon + 1));
    }
    return {};
}

// The paragraph of a processor; empty if there is none.
std::string_view block_of(std::string_view cpuinfo, int cpu) {
    while (!cpuinfo.empty()) {
        const size_t end = cpuinfo.find("\n\n");
        const std::string_view block = cpuinfo.substr(0, end);
        if (to_number(field(block, "processor")) == static_cast<uint64_t>(cpu)) return block;
        cpuinfo.remove_prefix(end == std::string_view::npos ? cpuinfo.size() : end + 2);
    }
    return {};
}

std::string machine() {
    utsname name{};
    uname(&name);
    return name.machine;
}

bool is_x86(std::string_view machine_name) {
    return machine_name == "x86_64" ||
           (machine_name.starts_with("i") && machine_name.ends_with("86"));
}

// A list such as 0-3,8: its length, and the position of `wanted` in it.
struct Place {
    uint64_t count = 0;
    uint64_t of_wanted = 0;
};

Place place_in(std::string_view list, uint64_t wanted) {
    Place place;
    list = trimmed(list);
    while (!list.empty()) {
        const std::string_view range = list.substr(0, list.find(','));
        list.remove_prefix(std::min(list.size(), range.size() + 1));
        const auto first = leading_number(range);
        if (!first) break;
        const size_t dash = range.find('-');
        const auto last =
            dash == std::string_view::npos ? first : to_number(range.substr(dash + 1));
        if (!last || *last < *first) break;
        if (*first <= wanted && wanted <= *last) place.of_wanted = place.count + wanted - *first;
        place.count += *last - *first + 1;
    }
    return place;
}

// Converts "1000 800" in kHz, in any order, to "800000:1000000" in Hz, ascending.
std::string frequencies(std::string_view khz, uint64_t only_hz) {
    std::vector<uint64_t> all;
    while (const auto one = to_number(take_word(khz))) all.push_back(*one * 1000);
    if (all.empty()) return std::to_string(only_hz);
    std::ranges::sort(all);
    std::string text;
    for (const uint64_t one : all) text += (text.empty() ? "" : ":") + std::to_string(one);
    return text;
}

}  // namespace

struct CpuInfo::Cpu {
    int number = 0;
    std::string folder;  // in /sys
    std::string brand, vendor, has_fpu;
    uint64_t family = 0, model = 0, stepping = 0;
    uint64_t chip = 0, core = 0, place_in_chip = 0, cpus_of_chip = 1, cores_of_chip = 1;
    uint64_t clock_hz = 0, clock_hz_max = 0;
    std::string clocks_hz;
};

void CpuInfo::list(std::vector<Entry>& entries) {
    if (files_.get(cpuinfo_path, settled).text.empty()) return;
    for (const int cpu : online_cpus(files_)) {
        const std::string name = "cpu_info" + std::to_string(cpu);
        kstat_t ks = header("cpu_info", cpu, name, "misc", KSTAT_TYPE_NAMED);
        ks.ks_flags = KSTAT_FLAG_VIRTUAL | KSTAT_FLAG_VAR_SIZE | KSTAT_FLAG_LONGSTRINGS;
        entries.push_back({ks, [this, cpu] { return read(cpu); }});
    }
}

std::optional<Data> CpuInfo::read(int cpu) {
    if (!std::ranges::binary_search(online_cpus(files_), cpu)) return std::nullopt;
    Data data = kept_[cpu].get(settled, [&] { return describe(cpu); });
    data.snaptime = gethrtime();
    return data;
}

Data CpuInfo::describe(int number) {
    Cpu cpu{};
    cpu.number = number;
    cpu.folder = "/sys/devices/system/cpu/cpu" + std::to_string(number) + "/";
    read_topology(cpu);
    read_cpuinfo(cpu);
    read_clock(cpu);
    const std::string kind = machine();
    const uint64_t mhz = (cpu.clock_hz_max + 500'000) / 1'000'000;
    Records records;
    records.add_chars("state", "on-line");
    records.add("state_begin", KSTAT_DATA_LONG, value_of(files_.get("/proc/stat").text, "btime"));
    records.add_chars("cpu_type", is_x86(kind) ? "i386" : kind);
    records.add_chars("fpu_type", cpu.has_fpu == "yes" ? "i387 compatible" : "");
    records.add("clock_MHz", KSTAT_DATA_LONG, mhz);
    records.add("chip_id", KSTAT_DATA_LONG, cpu.chip);
    records.add_string("implementation", kind + " (chipid " + std::to_string(cpu.chip) + " " +
                                             cpu.vendor + " family " + std::to_string(cpu.family) +
                                             " model " + std::to_string(cpu.model) + " step " +
                                             std::to_string(cpu.stepping) + " clock " +
                                             std::to_string(mhz) + " MHz)");
    records.add_string("brand", cpu.brand);
    records.add("core_id", KSTAT_DATA_LONG, cpu.core);
    records.add("current_clock_Hz", KSTAT_DATA_UINT64, cpu.clock_hz);
    records.add_string("supported_frequencies_Hz", cpu.clocks_hz);
    records.add("pg_id", KSTAT_DATA_LONG, static_cast<uint64_t>(-1));
    records.add_string("vendor_id", cpu.vendor);
    records.add("family", KSTAT_DATA_INT32, cpu.family);
    records.add("model", KSTAT_DATA_INT32, cpu.model);
    records.add("stepping", KSTAT_DATA_INT32, cpu.stepping);
    records.add("clog_id", KSTAT_DATA_INT32, cpu.place_in_chip);
    records.add("pkg_core_id", KSTAT_DATA_LONG, cpu.core);
    records.add("ncpu_per_chip", KSTAT_DATA_INT32, cpu.cpus_of_chip);
    records.add("ncore_per_chip", KSTAT_DATA_INT32, cpu.cores_of_chip);
    records.add("supported_max_cstates", KSTAT_DATA_INT32, idle_states(cpu));
    records.add("current_cstate", KSTAT_DATA_INT32, 0);
    records.add("cache_id", KSTAT_DATA_INT32, last_level_cache(cpu));
    records.add_string("socket_type", "Unknown");
    return records.finish(gethrtime());
}

// If the architecture has no such line, the topology's value stays.
void CpuInfo::read_cpuinfo(Cpu& cpu) {
    const std::string_view block = block_of(files_.get(cpuinfo_path, settled).text, cpu.number);
    cpu.brand = field(block, "model name");
    cpu.vendor = field(block, "vendor_id");
    if (cpu.vendor.empty()) cpu.vendor = field(block, "CPU implementer");
    cpu.has_fpu = field(block, "fpu");
    cpu.family = to_number(field(block, "cpu family")).value_or(0);
    cpu.model = to_number(field(block, "model")).value_or(0);
    cpu.stepping = to_number(field(block, "stepping")).value_or(0);
    cpu.cpus_of_chip = to_number(field(block, "siblings")).value_or(cpu.cpus_of_chip);
    cpu.cores_of_chip = to_number(field(block, "cpu cores")).value_or(cpu.cpus_of_chip);
    const std::string_view mhz = field(block, "cpu MHz");
    cpu.clock_hz = leading_number(mhz).value_or(0) * 1'000'000;
    if (const size_t dot = mhz.find('.'); dot != std::string_view::npos) {
        const std::string fraction = (std::string(mhz.substr(dot + 1)) + "000000").substr(0, 6);
        cpu.clock_hz += to_number(fraction).value_or(0);
    }
}

void CpuInfo::read_topology(Cpu& cpu) const {
    const std::string topology = cpu.folder + "topology/";
    const auto number = [&](const char* file) {
        return to_number(trimmed(files_.read(topology + file))).value_or(0);
    };
    cpu.chip = number("physical_package_id");
    cpu.core = number("core_id");
    std::string of_chip = files_.read(topology + "package_cpus_list");
    if (of_chip.empty()) of_chip = files_.read(topology + "core_siblings_list");
    const Place place = place_in(of_chip, static_cast<uint64_t>(cpu.number));
    cpu.place_in_chip = place.of_wanted;
    if (place.count > 0) cpu.cpus_of_chip = place.count;
}

void CpuInfo::read_clock(Cpu& cpu) const {
    const std::string cpufreq = cpu.folder + "cpufreq/";
    const auto hz = [&](const char* file, uint64_t otherwise) {
        const auto khz = to_number(trimmed(files_.read(cpufreq + file)));
        return khz ? *khz * 1000 : otherwise;
    };
    cpu.clock_hz = hz("scaling_cur_freq", cpu.clock_hz);
    cpu.clock_hz_max = hz("cpuinfo_max_freq", cpu.clock_hz);
    cpu.clocks_hz =
        frequencies(files_.read(cpufreq + "scaling_available_frequencies"), cpu.clock_hz_max);
}

// If caches have no numbers, the processors of a chip count as sharing its cache.
uint64_t CpuInfo::last_level_cache(const Cpu& cpu) const {
    for (const char* index : {"index3", "index2", "index1", "index0"}) {
        const auto id = to_number(trimmed(files_.read(cpu.folder + "cache/" + index + "/id")));
        if (id) return *id;
    }
    return cpu.chip;
}

// A processor that can only halt has one idle state.
uint64_t CpuInfo::idle_states(const Cpu& cpu) const {
    uint64_t states = 0;
    while (files_.exists(cpu.folder + "cpuidle/state" + std::to_string(states))) ++states;
    return std::max<uint64_t>(states, 1);
}

}  // namespace blkscope::kstat::host
