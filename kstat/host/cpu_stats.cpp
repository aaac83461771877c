#include "kstat/host/cpu_stats.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <span>
#include <string>

#include "kstat/host/cpu_stat_fields.hpp"
#include "kstat/host/raw_structs.hpp"
#include "kstat/host/text.hpp"

namespace blkscope::kstat::host {
namespace {

constexpr int interrupt_levels = 15;  // of Solaris

std::string cpu_key(int cpu) {
    return "cpu" + std::to_string(cpu);
}

uint64_t ns_per_tick() {
    return 1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
}

// The columns of a "cpuN" line of /proc/stat. Guests' time is already in user and nice.
struct Ticks {
    uint64_t user, nice, system, idle, iowait, irq, softirq, steal;
};

Ticks ticks_of(std::string_view stat, int cpu) {
    std::string_view rest = rest_of_line(stat, cpu_key(cpu)).value_or("");
    std::array<uint64_t, 8> columns{};
    for (uint64_t& column : columns) column = to_number(take_word(rest)).value_or(0);
    return {columns[0], columns[1], columns[2], columns[3],
            columns[4], columns[5], columns[6], columns[7]};
}

// Counts of serial-line drivers only: Linux does not count the characters of terminals.
uint64_t serial_characters(std::string_view lines, std::string_view direction) {
    uint64_t sum = 0;
    while (!lines.empty()) {
        const std::string_view word = take_word(lines);
        if (word.empty()) break;
        if (word.starts_with(direction)) {
            sum += to_number(word.substr(direction.size())).value_or(0);
        }
    }
    return sum;
}

uint64_t kib_to_pages(uint64_t kib) {
    return kib * 1024 / static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t difference(uint64_t whole, uint64_t part) {
    return whole > part ? whole - part : 0;
}

}  // namespace

struct CpuStats::Sys {
    uint64_t idle_ticks, user_ticks, kernel_ticks;
    uint64_t idle_ns, user_ns, kernel_ns, intr_ns;
    uint64_t switches, interrupts, tasks_made, tty_in, tty_out, went_idle, calls, blocked;
};

struct CpuStats::Vm {
    uint64_t page_ins, pages_in, pages_out, swap_in, swap_out;
    uint64_t stolen, scanned, minor_faults, major_faults, daemon_runs;
    uint64_t anon_stolen, fs_in, fs_out, fs_stolen;
};

// One record, and the place of its value; null: Linux does not count it.
template <class Counters>
struct CpuStats::Record {
    const char* name;
    uint64_t Counters::*value = nullptr;
};

CpuStats::CpuStats(Files& files) : files_(files) {}
CpuStats::~CpuStats() = default;

// A list of cpu_stat_fields.hpp as records. `Counters` is the struct of its counters.
#define COUNTED(field, counter) {#field, &Counters::counter},
#define ZERO(field) {#field},
#define RECORDS(list) list(COUNTED, ZERO)

// clang-format off
const std::vector<CpuStats::Record<CpuStats::Sys>>& CpuStats::sys_records() {
    using Counters = Sys;
    static const std::vector<Record<Sys>> records{
        {"cpu_ticks_idle", &Sys::idle_ticks},
        {"cpu_ticks_user", &Sys::user_ticks},
        {"cpu_ticks_kernel", &Sys::kernel_ticks},
        {"cpu_ticks_wait"},
        {"cpu_nsec_idle", &Sys::idle_ns},
        {"cpu_nsec_user", &Sys::user_ns},
        {"cpu_nsec_kernel", &Sys::kernel_ns},
        {"cpu_nsec_dtrace"},
        {"cpu_nsec_intr", &Sys::intr_ns},
        {"cpu_load_intr"},
        {"wait_ticks_io"},
        {"dtrace_probes"},
        RECORDS(CPU_STAT_WORK)
        RECORDS(CPU_STAT_INTERRUPTS)
        {"intrunpin"},
        RECORDS(CPU_STAT_THREADS)
        {"iowait", &Sys::blocked},
    };
    return records;
}

const std::vector<CpuStats::Record<CpuStats::Vm>>& CpuStats::vm_records() {
    using Counters = Vm;
    static const std::vector<Record<Vm>> records{RECORDS(CPU_STAT_PAGING)};
    return records;
}

// The words of a cpu_stat_t before its cpu_vminfo. The words of cpu_vminfo are vm_records().
const std::vector<CpuStats::Record<CpuStats::Sys>>& CpuStats::raw_records() {
    using Counters = Sys;
    static const std::vector<Record<Sys>> words{
        {"(lock)"},
        {"(lock)"},
        RECORDS(CPU_STAT_TICKS)
        RECORDS(CPU_STAT_WORK)
        RECORDS(CPU_STAT_OVERFLOWS)
        RECORDS(CPU_STAT_INTERRUPTS)
        RECORDS(CPU_STAT_THREADS)
        RECORDS(CPU_STAT_WINDOWS)
        RECORDS(CPU_STAT_WAITS)
    };
    return words;
}
// clang-format on

namespace {

template <class Records, class Counters>
Data named(const Records& records, const Counters& counters, hrtime_t snaptime) {
    host::Records data;
    for (const auto& record : records) {
        const uint64_t value = record.value == nullptr ? 0 : counters.*record.value;
        data.add(record.name, KSTAT_DATA_UINT64, value);
    }
    return data.finish(snaptime);
}

template <class Records, class Counters>
void append_words(std::vector<uint32_t>& words, const Records& records, const Counters& counters) {
    for (const auto& record : records) {
        const uint64_t value = record.value == nullptr ? 0 : counters.*record.value;
        words.push_back(static_cast<uint32_t>(value));
    }
}

}  // namespace

// Ascending only, so that malformed text cannot list one processor twice.
std::vector<int> online_cpus(Files& files) {
    std::string_view stat = files.get(stat_path).text;
    std::vector<int> cpus;
    while (auto line = take_line(stat)) {
        if (!line->starts_with("cpu")) break;
        const auto number = to_number(take_word(*line).substr(3));
        if (!number || *number > std::numeric_limits<int>::max()) continue;
        const int cpu = static_cast<int>(*number);
        if (cpus.empty() || cpu > cpus.back()) cpus.push_back(cpu);
    }
    return cpus;
}

void CpuStats::list(std::vector<Entry>& entries) {
    const bool has_vm = !files_.get(vmstat_path).text.empty();
    for (const int cpu : online_cpus(files_)) {
        if (has_vm) {
            kstat_t vm = header("cpu", cpu, "vm", "misc", KSTAT_TYPE_NAMED);
            hold_records(vm, vm_records().size());
            entries.push_back({vm, [this, cpu] { return read(cpu, &CpuStats::read_vm); }});
        }
        kstat_t sys = header("cpu", cpu, "sys", "misc", KSTAT_TYPE_NAMED);
        hold_records(sys, sys_records().size());
        entries.push_back({sys, [this, cpu] { return read(cpu, &CpuStats::read_sys); }});
        kstat_t levels = header("cpu", cpu, "intrstat", "misc", KSTAT_TYPE_NAMED);
        hold_records(levels, size_t{2} * interrupt_levels);
        entries.push_back({levels, [this, cpu] { return read(cpu, &CpuStats::read_levels); }});
        const std::string name = "cpu_stat" + std::to_string(cpu);
        kstat_t all = header("cpu_stat", cpu, name, "misc", KSTAT_TYPE_RAW);
        all.ks_data_size = cpu_stat_words * sizeof(uint32_t);
        all.ks_ndata = static_cast<uint_t>(all.ks_data_size);
        entries.push_back({all, [this, cpu] { return read(cpu, &CpuStats::read_raw); }});
    }
}

std::optional<Data> CpuStats::read(int cpu, Data (CpuStats::*how)(int cpu, bool is_first)) {
    const std::vector<int> online = online_cpus(files_);
    if (!std::ranges::binary_search(online, cpu)) return std::nullopt;
    return (this->*how)(cpu, online.front() == cpu);
}

Data CpuStats::read_sys(int cpu, bool is_first) {
    return named(sys_records(), count_sys(cpu, is_first), files_.get(stat_path).taken);
}

Data CpuStats::read_vm(int /*cpu*/, bool is_first) {
    return named(vm_records(), is_first ? count_vm() : Vm{}, files_.get(vmstat_path).taken);
}

Data CpuStats::read_raw(int cpu, bool is_first) {
    std::vector<uint32_t> words;
    append_words(words, raw_records(), count_sys(cpu, is_first));
    append_words(words, vm_records(), is_first ? count_vm() : Vm{});
    assert(words.size() == cpu_stat_words);
    const auto bytes = std::as_bytes(std::span(words));
    return {files_.get(stat_path).taken,
            static_cast<uint_t>(bytes.size()),
            {bytes.begin(), bytes.end()}};
}

// Interrupts on Linux have no levels: all values are 0.
Data CpuStats::read_levels(int /*cpu*/, bool /*is_first*/) {
    host::Records records;
    for (int level = 1; level <= interrupt_levels; ++level) {
        const std::string name = "level-" + std::to_string(level);
        records.add(name + "-time", KSTAT_DATA_UINT64, 0);
        records.add(name + "-count", KSTAT_DATA_UINT64, 0);
    }
    return records.finish(gethrtime());
}

CpuStats::Sys CpuStats::count_sys(int cpu, bool is_first) {
    const Ticks ticks = ticks_of(files_.get(stat_path).text, cpu);
    const uint64_t tick = ns_per_tick();
    Sys sys{};
    sys.idle_ticks = ticks.idle + ticks.iowait;
    sys.user_ticks = ticks.user + ticks.nice;
    sys.kernel_ticks = ticks.system + ticks.irq + ticks.softirq + ticks.steal;
    sys.idle_ns = sys.idle_ticks * tick;
    sys.user_ns = sys.user_ticks * tick;
    sys.kernel_ns = sys.kernel_ticks * tick;
    sys.intr_ns = (ticks.irq + ticks.softirq) * tick;
    const auto& interrupts = interrupts_.get(files_.sweep(), [this] { return count_interrupts(); });
    if (const auto at = interrupts.find(cpu); at != interrupts.end()) {
        sys.interrupts = at->second.devices;
        sys.calls = at->second.calls;
    }
    auto schedstat = rest_of_line(files_.get("/proc/schedstat").text, cpu_key(cpu)).value_or("");
    for (int skipped = 0; skipped < 3; ++skipped) take_word(schedstat);
    sys.went_idle = to_number(take_word(schedstat)).value_or(0);
    if (is_first) count_whole_machine(sys);
    return sys;
}

void CpuStats::count_whole_machine(Sys& sys) {
    const std::string_view stat = files_.get(stat_path).text;
    sys.switches = value_of(stat, "ctxt");
    sys.tasks_made = value_of(stat, "processes");
    sys.blocked = value_of(stat, "procs_blocked");
    const std::string_view serial = files_.get("/proc/tty/driver/serial").text;
    sys.tty_in = serial_characters(serial, "rx:");
    sys.tty_out = serial_characters(serial, "tx:");
}

// Parses the file once per look, for all kstats that use it.
CpuStats::Vm CpuStats::count_vm() {
    const auto [vmstat, taken] = files_.get(vmstat_path);
    if (vm_ == nullptr || taken != vm_taken_) {
        vm_ = std::make_unique<Vm>(parse_vm(vmstat));
        vm_taken_ = taken;
    }
    return *vm_;
}

CpuStats::Vm CpuStats::parse_vm(std::string_view vmstat) {
    Vm vm{};
    vm.major_faults = value_of(vmstat, "pgmajfault");
    vm.minor_faults = difference(value_of(vmstat, "pgfault"), vm.major_faults);
    vm.page_ins = vm.major_faults;
    vm.pages_in = kib_to_pages(value_of(vmstat, "pgpgin"));
    vm.pages_out = kib_to_pages(value_of(vmstat, "pgpgout"));
    vm.swap_in = value_of(vmstat, "pswpin");
    vm.swap_out = value_of(vmstat, "pswpout");
    vm.fs_in = difference(vm.pages_in, vm.swap_in);
    vm.fs_out = difference(vm.pages_out, vm.swap_out);
    // Kernels before 4.8 have a line per zone: the zone's name follows these keys.
    vm.stolen = sum_of(vmstat, "pgsteal_kswapd") + sum_of(vmstat, "pgsteal_direct");
    vm.scanned = sum_of(vmstat, "pgscan_kswapd") + sum_of(vmstat, "pgscan_direct") -
                 value_of(vmstat, "pgscan_direct_throttle");
    vm.anon_stolen = value_of(vmstat, "pgsteal_anon");
    vm.fs_stolen = value_of(vmstat, "pgsteal_file");
    vm.daemon_runs = value_of(vmstat, "pageoutrun");
    return vm;
}

// The first line names the columns' processors; a device's line begins with its number.
std::map<int, CpuStats::Interrupts> CpuStats::count_interrupts() {
    const std::string kept = files_.read_again("/proc/interrupts");
    std::string_view text = kept;
    std::vector<Interrupts> counts;
    std::vector<int> cpus;
    std::string_view heads = take_line(text).value_or("");
    for (auto head = take_word(heads); head.starts_with("CPU"); head = take_word(heads)) {
        cpus.push_back(static_cast<int>(to_number(head.substr(3)).value_or(0)));
    }
    counts.resize(cpus.size());
    while (auto line = take_line(text)) {
        const bool is_device = leading_number(take_word(*line)).has_value();
        const bool is_call = line->find("Function call interrupts") != std::string_view::npos;
        if (!is_device && !is_call) continue;
        for (Interrupts& count : counts) {
            const uint64_t number = to_number(take_word(*line)).value_or(0);
            (is_device ? count.devices : count.calls) += number;
        }
    }
    std::map<int, Interrupts> by_cpu;
    for (size_t i = 0; i < cpus.size(); ++i) by_cpu[cpus[i]] = counts[i];
    return by_cpu;
}

}  // namespace blkscope::kstat::host
