#include "kstat/host/system.hpp"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "kstat/host/cpu_stats.hpp"
#include "kstat/host/raw_structs.hpp"
#include "kstat/host/text.hpp"

namespace blkscope::kstat::host {
namespace {

const std::string meminfo_path = "/proc/meminfo";
const std::string dentry_path = "/proc/sys/fs/dentry-state";
const std::string tasks_max_path = "/proc/sys/kernel/threads-max";

// The names of a kstat's records, a blank between two. Linux lacks the caches that the first three
// kstats count: their records are all 0.
constexpr std::string_view segmap_names =
    "fault faulta getmap get_use get_reclaim get_reuse get_unused get_nofree rel_async "
    "rel_write rel_free rel_abort rel_dontneed release pagecreate free_notfree free_dirty free "
    "stolen get_nomtx";
constexpr std::string_view biostats_names =
    "buffer_cache_lookups buffer_cache_hits new_buffer_requests waits_for_buffer_allocs "
    "buffers_locked_by_someone duplicate_buffers_found";
constexpr std::string_view poll_names =
    "polllistmiss pollcachehit pollcachephit pollcachemiss pollunlockfail";
constexpr std::string_view dnlc_names =
    "hits misses negative_cache_hits enters double_enters purge_total_entries purge_all "
    "purge_vp purge_vfs purge_fs1 pick_free pick_heuristic pick_last dir_hits dir_misses "
    "dir_cached_current dir_entries_cached_current dir_cached_total dir_start_no_memory "
    "dir_add_no_memory dir_add_abort dir_add_max dir_remove_entry_fail dir_remove_space_fail "
    "dir_update_fail dir_fini_purge dir_reclaim_last dir_reclaim_any";

constexpr size_t misc_records = 11;
constexpr size_t pages_records = 22;

// Linux' priorities: 0 to 139, of which those below 100 are real-time.
constexpr int32_t priorities = 140;
constexpr int32_t real_time_priority_max = 99;

uint64_t ticks_per_second() {
    return static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
}

uint64_t seconds_at(hrtime_t time) {
    return static_cast<uint64_t>(time / 1'000'000'000);
}

size_t words_in(std::string_view names) {
    return static_cast<size_t>(std::ranges::count(names, ' ')) + 1;
}

Data zeros(std::string_view names, uchar_t type) {
    Records records;
    while (!names.empty()) records.add(take_word(names), type, 0);
    return records.finish(gethrtime());
}

// "0.52" as 133: load averages count in 1/256.
uint64_t average(std::string_view text) {
    const uint64_t whole = leading_number(text).value_or(0);
    const size_t dot = text.find('.');
    if (dot == std::string_view::npos) return whole * 256;
    const uint64_t hundredths = to_number(text.substr(dot + 1)).value_or(0);
    return whole * 256 + hundredths * 256 / 100;
}

int32_t clamped(uint64_t value) {
    return static_cast<int32_t>(std::min<uint64_t>(value, INT32_MAX));
}

// The "6/123" of /proc/loadavg: the number of tasks.
uint64_t tasks_of(std::string_view running_and_all) {
    const size_t slash = running_and_all.find('/');
    if (slash == std::string_view::npos) return 0;
    return to_number(running_and_all.substr(slash + 1)).value_or(0);
}

// The sum of the values of all lines with that key; the text before the key is ignored.
uint64_t sum_of_indented(std::string_view text, std::string_view key) {
    uint64_t sum = 0;
    while (auto line = take_line(text)) {
        if (take_word(*line) == key) sum += to_number(take_word(*line)).value_or(0);
    }
    return sum;
}

kstat_t raw_header(std::string_view name, std::string_view klass, size_t size) {
    kstat_t ks = header("unix", 0, name, klass, KSTAT_TYPE_RAW);
    ks.ks_flags = KSTAT_FLAG_VIRTUAL;
    ks.ks_ndata = static_cast<uint_t>(size);
    ks.ks_data_size = size;
    return ks;
}

kstat_t named_header(std::string_view name, std::string_view klass, size_t records,
                     std::string_view module = "unix") {
    kstat_t ks = header(module, 0, name, klass, KSTAT_TYPE_NAMED);
    ks.ks_flags = KSTAT_FLAG_VIRTUAL;
    hold_records(ks, records);
    return ks;
}

}  // namespace

uint64_t SecondsSum::add(uint64_t second, uint64_t amount) {
    if (second > second_) sum_ += (second - second_) * amount;
    second_ = std::max(second, second_);
    return sum_;
}

void System::list(std::vector<Entry>& entries) {
    const auto add = [&](const kstat_t& ks, auto read) {
        entries.push_back({ks, [read]() -> std::optional<Data> { return read(); }});
    };
    if (rest_of_line(files_.get(stat_path).text, "procs_running")) {
        add(raw_header("sysinfo", "misc", sizeof(Sysinfo)), [this] { return read_sysinfo(); });
    }
    if (rest_of_line(files_.get(meminfo_path).text, "MemTotal:")) {
        add(raw_header("vminfo", "vm", sizeof(Vminfo)), [this] { return read_vminfo(); });
    }
    if (!files_.get(vmstat_path).text.empty()) {
        add(named_header("segmap", "vm", words_in(segmap_names)),
            [] { return zeros(segmap_names, KSTAT_DATA_ULONG); });
        add(named_header("biostats", "misc", words_in(biostats_names)),
            [] { return zeros(biostats_names, KSTAT_DATA_UINT32); });
        add(named_header("pollstats", "misc", words_in(poll_names), "poll"),
            [] { return zeros(poll_names, KSTAT_DATA_UINT64); });
    }
    if (!files_.get(tasks_max_path).text.empty()) {
        add(raw_header("var", "misc", sizeof(Var)), [this] { return read_var(); });
    }
    if (!files_.get("/proc/loadavg").text.empty()) {
        add(named_header("system_misc", "misc", misc_records),
            [this] { return read_system_misc(); });
    }
    if (rest_of_line(files_.get(meminfo_path).text, "MemTotal:")) {
        add(named_header("system_pages", "pages", pages_records),
            [this] { return read_system_pages(); });
    }
    if (!files_.get(dentry_path).text.empty()) {
        add(raw_header("ncstats", "misc", sizeof(Ncstats)),
            [] { return raw(Ncstats{}, gethrtime(), sizeof(Ncstats)); });
        add(named_header("dnlcstats", "misc", words_in(dnlc_names)),
            [this] { return read_dnlcstats(); });
    }
}

// Linux counts running tasks and tasks that wait for a processor together.
Data System::read_sysinfo() {
    const uint64_t cpus = online_cpus(files_).size();
    const auto [stat, taken] = files_.get(stat_path);
    const uint64_t ready = value_of(stat, "procs_running");
    const uint64_t queued = ready > cpus ? ready - cpus : 0;
    const uint64_t second = seconds_at(taken);
    Sysinfo info{};
    info.updates = static_cast<uint32_t>(second);
    info.runque = static_cast<uint32_t>(runnable_.add(second, queued));
    info.runocc = static_cast<uint32_t>(occupied_.add(second, queued > 0 ? 1 : 0));
    info.waiting = static_cast<uint32_t>(waiting_.add(second, value_of(stat, "procs_blocked")));
    return raw(info, taken, sizeof info);
}

Data System::read_vminfo() {
    const hrtime_t taken = files_.get(meminfo_path).taken;
    const uint64_t second = seconds_at(taken);
    const uint64_t total = pages("SwapTotal:");
    const uint64_t left = pages("SwapFree:");
    Vminfo info{};
    info.freemem = free_.add(second, pages("MemFree:"));
    info.swap_resv = reserved_.add(second, pages("Committed_AS:"));
    info.swap_alloc = allocated_.add(second, total > left ? total - left : 0);
    info.swap_avail = available_.add(second, left + pages("MemAvailable:"));
    info.swap_free = unallocated_.add(second, left + pages("MemFree:"));
    info.updates = second;
    return raw(info, taken, sizeof info);
}

Data System::read_var() {
    const auto number = [this](const std::string& path) {
        return to_number(trimmed(files_.get(path).text)).value_or(0);
    };
    const uint64_t tasks_max = number(tasks_max_path);
    const uint64_t pids_max = number("/proc/sys/kernel/pid_max");
    Var var{};
    var.v_proc = clamped(pids_max > 0 ? std::min(tasks_max, pids_max) : tasks_max);
    var.v_maxupttl = var.v_proc;
    var.v_maxup = clamped(tasks_max / 2);  // the first process's limit in Linux
    var.v_nglobpris = priorities;
    var.v_maxsyspri = real_time_priority_max;
    var.v_autoup = clamped(number("/proc/sys/vm/dirty_expire_centisecs") / 100);
    return raw(var, files_.get(tasks_max_path).taken, sizeof var);
}

Data System::read_dnlcstats() {
    const auto [text, taken] = files_.get(dentry_path);
    std::string_view rest = text;
    const uint64_t entries = to_number(take_word(rest)).value_or(0);
    Records records;
    for (std::string_view names = dnlc_names; !names.empty();) {
        const std::string_view name = take_word(names);
        records.add(name, KSTAT_DATA_UINT64, name == "dir_entries_cached_current" ? entries : 0);
    }
    return records.finish(taken);
}

Data System::read_system_misc() {
    const uint64_t cpus = online_cpus(files_).size();
    const uint64_t boot_time = value_of(files_.get(stat_path).text, "btime");
    const auto [text, taken] = files_.get("/proc/loadavg");
    const uint64_t ticks = static_cast<uint64_t>(taken) / (1'000'000'000 / ticks_per_second());
    std::string_view rest = text;
    Records records;
    const auto add = [&](std::string_view name, uint64_t value) {
        records.add(name, KSTAT_DATA_UINT32, value);
    };
    const std::string_view one = take_word(rest);
    const std::string_view five = take_word(rest);
    const std::string_view fifteen = take_word(rest);
    add("ncpus", cpus);
    add("lbolt", ticks);
    add("deficit", 0);
    add("clk_intr", ticks);
    add("vac", 0);
    add("nproc", tasks_of(take_word(rest)));
    add("avenrun_1min", average(one));
    add("avenrun_5min", average(five));
    add("avenrun_15min", average(fifteen));
    add("boot_time", boot_time);
    add("nsec_per_tick", 1'000'000'000 / ticks_per_second());
    return records.finish(taken);
}

Data System::read_system_pages() {
    const uint64_t total = pages("MemTotal:");
    const uint64_t kernel =
        pages("SUnreclaim:") + pages("KernelStack:") + pages("PageTables:") + pages("Percpu:");
    const uint64_t locked = std::min(total, kernel + pages("Unevictable:"));
    Records records;
    const auto add = [&](std::string_view name, uint64_t value) {
        records.add(name, KSTAT_DATA_ULONG, value);
    };
    add("physmem", total);
    for (const char* name :
         {"nalloc", "nfree", "nalloc_calls", "nfree_calls", "kernelbase", "econtig"}) {
        add(name, 0);
    }
    add("freemem", pages("MemFree:"));
    add("availrmem", total - locked);
    add("lotsfree", watermarks().high);
    add("desfree", watermarks().low);
    add("minfree", watermarks().min);
    for (const char* name : {"fastscan", "slowscan", "nscan", "desscan"}) add(name, 0);
    add("pp_kernel", kernel);
    add("pagesfree", pages("MemFree:"));
    add("pageslocked", locked);
    add("pagestotal", total);
    add("low_mem_scan", 0);
    add("n_throttle", value_of(files_.get(vmstat_path).text, "pgscan_direct_throttle"));
    return records.finish(files_.get(meminfo_path).taken);
}

// /proc/meminfo counts in KiB.
uint64_t System::pages(const char* key) {
    const uint64_t kib = value_of(files_.get(meminfo_path).text, key);
    return kib * 1024 / static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// The watermarks of all zones together.
const System::Watermarks& System::watermarks() {
    return watermarks_.get(configured, [this] {
        const std::string text = files_.read("/proc/zoneinfo");
        return Watermarks{sum_of_indented(text, "min"), sum_of_indented(text, "low"),
                          sum_of_indented(text, "high")};
    });
}

}  // namespace blkscope::kstat::host
