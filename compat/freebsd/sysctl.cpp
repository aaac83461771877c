// sysctl: the names of freebsd/include/sys/sysctl.h, in one table with their numbers.
#include <blkscope/stats.h>
#include <devstat.h>
#include <kstat.h>
#include <sys/param.h>
#include <sys/resource.h>
#include <sys/sbuf.h>
#include <sys/sysctl.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "proc_numbers.hpp"

namespace blkscope::freebsd {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
Bytes bytes_of(const T& value) {
    Bytes bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

// A number of libdevstat, which keeps the errno to itself.
template <auto get>
int of_devstat(Bytes& bytes) {
    const auto value = get(nullptr);
    if (value < 0) return EIO;
    bytes = bytes_of(value);
    return 0;
}

// With its NUL.
int text(std::string_view value, Bytes& bytes) {
    bytes.assign(value.size() + 1, std::byte{});
    std::memcpy(bytes.data(), value.data(), value.size());
    return 0;
}

// The statistics of all devices, with their memory.
struct Devices {
    Devices() {
        stats.dinfo = &info;
        error = devstat_getdevs(nullptr, &stats) < 0 ? EBUSY : 0;
    }
    ~Devices() { std::free(info.mem_ptr); }
    Devices& operator=(Devices&&) = delete;

    devinfo info{};
    statinfo stats{};
    int error;
};

int all_devices(Bytes& bytes) {
    const Devices devices;
    if (devices.error != 0) return devices.error;
    const auto count = static_cast<size_t>(devices.info.numdevs);
    bytes.resize(sizeof(long) + count * sizeof(struct ::devstat));
    std::memcpy(bytes.data(), devices.info.mem_ptr, bytes.size());
    return 0;
}

// FreeBSD's disks are da, ada, nda, cd and their like. Tapes, changers and pass-through devices are
// devices of its devstat only.
bool is_disk(devstat_type_flags type) {
    if ((type & DEVSTAT_TYPE_PASS) != 0) return false;
    switch (type & DEVSTAT_TYPE_MASK) {
        case DEVSTAT_TYPE_DIRECT:
        case DEVSTAT_TYPE_WORM:
        case DEVSTAT_TYPE_CDROM:
        case DEVSTAT_TYPE_OPTICAL:
        case DEVSTAT_TYPE_STORARRAY:
        case DEVSTAT_TYPE_FLOPPY:
            return true;
        default:
            return false;
    }
}

int names_of_disks(Bytes& bytes) {
    const Devices devices;
    if (devices.error != 0) return devices.error;
    std::string names;
    for (int i = 0; i < devices.info.numdevs; ++i) {
        const struct ::devstat& entry = devices.info.devices[i];
        if (!is_disk(entry.device_type)) continue;
        if (!names.empty()) names += ' ';
        names += entry.device_name + std::to_string(entry.unit_number);
    }
    return text(names, bytes);
}

using CpuTime = std::array<long, CPUSTATES>;

// Reads a line of /proc/stat behind its name. Waiting for I/O counts as idle. CP_INTR is the sum of
// irq and softirq. Source: proc(5).
bool read_times(std::istream& line, CpuTime& time) {
    std::array<long, 7> linux_time{};  // user nice system idle iowait irq softirq
    for (long& of_one : linux_time) line >> of_one;
    time[CP_USER] = linux_time[0];
    time[CP_NICE] = linux_time[1];
    time[CP_SYS] = linux_time[2];
    time[CP_IDLE] = linux_time[3] + linux_time[4];
    time[CP_INTR] = linux_time[5] + linux_time[6];
    return static_cast<bool>(line);
}

// The line of all processors is called cpu, the others cpu0, cpu1, ...
std::vector<CpuTime> cpu_times_of(bool all) {
    std::ifstream in("/proc/stat");
    std::vector<CpuTime> times;
    for (std::string line; std::getline(in, line) && line.starts_with("cpu");) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        CpuTime time{};
        if ((name == "cpu") == all && read_times(words, time)) times.push_back(time);
    }
    return times;
}

// Of all processors together, or of each.
template <bool all>
int cpu_times(Bytes& bytes) {
    for (const CpuTime& time : cpu_times_of(all)) {
        const Bytes one = bytes_of(time);
        bytes.insert(bytes.end(), one.begin(), one.end());
    }
    return bytes.empty() ? EIO : 0;
}

// The unit of /proc/stat.
int clock_rate(Bytes& bytes) {
    const int hz = static_cast<int>(sysconf(_SC_CLK_TCK));
    bytes = bytes_of(clockinfo{hz, 1'000'000 / hz, 0, hz, hz});
    return 0;
}

int boot_time(Bytes& bytes) {
    std::ifstream in("/proc/stat");
    timeval booted{};
    for (std::string word; in >> word;) {
        if (word != "btime") continue;
        in >> booted.tv_sec;
        bytes = bytes_of(booted);
        return in ? 0 : EIO;
    }
    return EIO;
}

int load_average(Bytes& bytes) {
    std::array<double, 3> averages{};
    if (getloadavg(averages.data(), 3) != 3) return EIO;
    loadavg load{};
    load.fscale = FSCALE;
    for (size_t i = 0; i < averages.size(); ++i) {
        load.ldavg[i] = static_cast<fixpt_t>(std::lround(averages[i] * FSCALE));
    }
    bytes = bytes_of(load);
    return 0;
}

template <char (utsname::*member)[sizeof utsname::sysname]>
int of_uname(Bytes& bytes) {
    utsname names{};
    if (uname(&names) != 0) return errno;
    return text(names.*member, bytes);
}

int release_date(Bytes& bytes) {
    bytes = bytes_of(__FreeBSD_version);
    return 0;
}

// T is int or unsigned int: more pages than that holds are as many as it holds.
template <class T, int what>
int of_sysconf(Bytes& bytes) {
    const long most = std::numeric_limits<T>::max();
    bytes = bytes_of(static_cast<T>(std::min(sysconf(what), most)));
    return 0;
}

// A number of /proc as T, at most as large as T holds.
template <class T>
int of_proc(std::optional<uint64_t> number, Bytes& bytes) {
    if (!number) return ENOENT;
    bytes = bytes_of(static_cast<T>(std::min<uint64_t>(*number, std::numeric_limits<T>::max())));
    return 0;
}

// A text as a parameter of a template.
template <size_t size>
struct Name {
    consteval Name(const char (&from)[size]) { std::copy_n(from, size, text); }
    char text[size];
};

template <class T, Name name>
int memory_bytes(Bytes& bytes) {
    const std::optional<uint64_t> kib = NamedNumbers("/proc/meminfo").at(name.text);
    return kib ? of_proc<T>(*kib * 1024, bytes) : ENOENT;
}

template <Name name>
int pages(Bytes& bytes) {
    return of_proc<unsigned>(memory_pages(name.text), bytes);
}

template <Name file, Name name>
int count(Bytes& bytes) {
    return of_proc<uint64_t>(NamedNumbers(file.text).at(name.text), bytes);
}

// Of /proc/vmstat, where a number of moved bytes is KiB.
template <Name name>
int moved_pages(Bytes& bytes) {
    return of_proc<uint64_t>(pages_of_kib(NamedNumbers("/proc/vmstat").at(name.text)), bytes);
}

template <Name file, int index>
int number(Bytes& bytes) {
    return of_proc<int>(number_at(file.text, index), bytes);
}

int wired_pages(Bytes& bytes) {
    return of_proc<unsigned>(kernel_pages(), bytes);
}

int no_pages(Bytes& bytes) {
    return of_proc<unsigned>(0, bytes);
}

int has_many_processors(Bytes& bytes) {
    return of_proc<int>(sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 1 : 0, bytes);
}

int model(Bytes& bytes) {
    const std::optional<std::string> name = processor_model();
    return name ? text(*name, bytes) : of_uname<&utsname::machine>(bytes);
}

int total_use(Bytes& bytes) {
    const std::optional<vmtotal> use = use_of_memory();
    if (!use) return ENOENT;
    bytes = bytes_of(*use);
    return 0;
}

// Of all processors' cpu:N:sys, which count what terminals moved.
int characters(const char* record, Bytes& bytes) {
    const std::unique_ptr<kstat_ctl_t, int (*)(kstat_ctl_t*)> kc(kstat_open(), kstat_close);
    if (!kc) return errno;
    long sum = 0;
    for (kstat_t* ksp = kc->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
        if (std::strcmp(ksp->ks_module, "cpu") != 0 || std::strcmp(ksp->ks_name, "sys") != 0)
            continue;
        if (kstat_read(kc.get(), ksp, nullptr) < 0) continue;
        const auto* named = static_cast<kstat_named_t*>(kstat_data_lookup(ksp, record));
        if (named != nullptr) sum += static_cast<long>(named->value.ui64);
    }
    bytes = bytes_of(sum);
    return 0;
}

// Those of libstats in this process, which has them instead of a kernel.
int stats_templates(Bytes& bytes) {
    const std::unique_ptr<sbuf, void (*)(sbuf*)> buf(sbuf_new_auto(), sbuf_delete);
    if (buf == nullptr) return ENOMEM;
    if (const int error = stats_tpl_list_tostr(buf.get())) return error;
    if (sbuf_finish(buf.get()) != 0) return ENOMEM;
    return text(sbuf_data(buf.get()), bytes);
}

struct Entry {
    std::string_view name;
    std::array<int, 2> number;
    int (*get)(Bytes& bytes);  // an errno
    bool counts = false;       // 64 bits, or the lower 32 where there is room for no more
};

// Numbers from 256 on are ours: FreeBSD, too, gives these names one when they are made.
constexpr auto entries = std::to_array<Entry>({
    {"kern.ostype", {CTL_KERN, KERN_OSTYPE}, of_uname<&utsname::sysname>},
    {"kern.osrelease", {CTL_KERN, KERN_OSRELEASE}, of_uname<&utsname::release>},
    {"kern.version", {CTL_KERN, KERN_VERSION}, of_uname<&utsname::version>},
    {"kern.hostname", {CTL_KERN, KERN_HOSTNAME}, of_uname<&utsname::nodename>},
    {"kern.osreldate", {CTL_KERN, KERN_OSRELDATE}, release_date},
    {"kern.clockrate", {CTL_KERN, KERN_CLOCKRATE}, clock_rate},
    {"kern.boottime", {CTL_KERN, KERN_BOOTTIME}, boot_time},
    {"kern.devstat.numdevs", {CTL_KERN, 256}, of_devstat<devstat_getnumdevs>},
    {"kern.devstat.generation", {CTL_KERN, 257}, of_devstat<devstat_getgeneration>},
    {"kern.devstat.version", {CTL_KERN, 258}, of_devstat<devstat_getversion>},
    {"kern.devstat.all", {CTL_KERN, 259}, all_devices},
    {"kern.disks", {CTL_KERN, 260}, names_of_disks},
    {"kern.cp_time", {CTL_KERN, 261}, cpu_times<true>},
    {"kern.cp_times", {CTL_KERN, 262}, cpu_times<false>},
    {"kern.tty_nin", {CTL_KERN, 263}, [](Bytes& bytes) { return characters("rawch", bytes); }},
    {"kern.tty_nout", {CTL_KERN, 264}, [](Bytes& bytes) { return characters("outch", bytes); }},
    {"kern.smp.cpus", {CTL_KERN, 265}, of_sysconf<int, _SC_NPROCESSORS_ONLN>},
    {"kern.smp.maxcpus", {CTL_KERN, 266}, of_sysconf<int, _SC_NPROCESSORS_CONF>},
    {"kern.maxproc", {CTL_KERN, KERN_MAXPROC}, number<"/proc/sys/kernel/pid_max", 0>},
    {"kern.maxfiles", {CTL_KERN, KERN_MAXFILES}, number<"/proc/sys/fs/file-nr", 2>},
    {"kern.openfiles", {CTL_KERN, 267}, number<"/proc/sys/fs/file-nr", 0>},
    {"kern.lastpid", {CTL_KERN, 268}, number<"/proc/loadavg", 4>},
    {"kern.hz", {CTL_KERN, 269}, of_sysconf<int, _SC_CLK_TCK>},
    {"kern.smp.active", {CTL_KERN, 270}, has_many_processors},
    {"kern.pid_max", {CTL_KERN, 271}, number<"/proc/sys/kernel/pid_max", 0>},
    {"kern.stats.templates", {CTL_KERN, 272}, stats_templates},
    {"hw.machine", {CTL_HW, HW_MACHINE}, of_uname<&utsname::machine>},
    {"hw.machine_arch", {CTL_HW, HW_MACHINE_ARCH}, of_uname<&utsname::machine>},
    {"hw.ncpu", {CTL_HW, HW_NCPU}, of_sysconf<int, _SC_NPROCESSORS_ONLN>},
    {"hw.physmem", {CTL_HW, HW_PHYSMEM}, memory_bytes<unsigned long, "MemTotal:">},
    {"hw.realmem", {CTL_HW, HW_REALMEM}, memory_bytes<unsigned long, "MemTotal:">},
    {"hw.usermem", {CTL_HW, HW_USERMEM}, memory_bytes<unsigned long, "MemFree:">},
    {"hw.pagesize", {CTL_HW, HW_PAGESIZE}, of_sysconf<int, _SC_PAGESIZE>},
    {"hw.model", {CTL_HW, HW_MODEL}, model},
    {"vm.loadavg", {CTL_VM, VM_LOADAVG}, load_average},
    {"vm.stats.vm.v_page_size", {CTL_VM, 256}, of_sysconf<unsigned, _SC_PAGESIZE>},
    {"vm.stats.vm.v_page_count", {CTL_VM, 257}, pages<"MemTotal:">},
    {"vm.stats.vm.v_free_count", {CTL_VM, 258}, pages<"MemFree:">},
    {"vm.stats.vm.v_active_count", {CTL_VM, 259}, pages<"Active:">},
    {"vm.stats.vm.v_inactive_count", {CTL_VM, 260}, pages<"Inactive:">},
    {"vm.stats.vm.v_wire_count", {CTL_VM, 261}, wired_pages},
    {"vm.stats.vm.v_cache_count", {CTL_VM, 262}, no_pages},
    {"vm.stats.vm.v_laundry_count", {CTL_VM, 263}, no_pages},
    {"vm.stats.vm.v_vm_faults", {CTL_VM, 264}, count<"/proc/vmstat", "pgfault">, true},
    {"vm.stats.vm.v_swappgsin", {CTL_VM, 265}, count<"/proc/vmstat", "pswpin">, true},
    {"vm.stats.vm.v_swappgsout", {CTL_VM, 266}, count<"/proc/vmstat", "pswpout">, true},
    {"vm.stats.vm.v_vnodepgsin", {CTL_VM, 267}, moved_pages<"pgpgin">, true},
    {"vm.stats.vm.v_vnodepgsout", {CTL_VM, 268}, moved_pages<"pgpgout">, true},
    {"vm.stats.vm.v_forks", {CTL_VM, 269}, count<"/proc/stat", "processes">, true},
    {"vm.stats.sys.v_swtch", {CTL_VM, 270}, count<"/proc/stat", "ctxt">, true},
    {"vm.stats.sys.v_intr", {CTL_VM, 271}, count<"/proc/stat", "intr">, true},
    {"vm.stats.sys.v_soft", {CTL_VM, 272}, count<"/proc/stat", "softirq">, true},
    {"vm.swap_total", {CTL_VM, 273}, memory_bytes<uint64_t, "SwapTotal:">},
    {"vm.vmtotal", {CTL_VM, VM_TOTAL}, total_use},
    {"vfs.bufspace", {CTL_VFS, 256}, memory_bytes<long, "Buffers:">},
});

// NULL: there is none.
template <class Is>
const Entry* find(Is is) {
    const auto* const found = std::find_if(entries.begin(), entries.end(), is);
    return found == entries.end() ? nullptr : found;
}

const Entry* find_name(std::string_view name) {
    return find([name](const Entry& entry) { return entry.name == name; });
}

Bytes lower_half(const Bytes& of) {
    uint64_t number = 0;
    assert(of.size() == sizeof number);
    std::memcpy(&number, of.data(), sizeof number);
    return bytes_of(static_cast<uint32_t>(number));
}

// An errno.
int read(const Entry* entry, void* oldp, size_t* oldlenp, const void* newp) {
    if (entry == nullptr) return ENOENT;
    if (newp != nullptr) return EPERM;
    Bytes bytes;
    if (const int error = entry->get(bytes)) return error;
    if (oldlenp == nullptr) return 0;
    const size_t room = oldp == nullptr ? bytes.size() : *oldlenp;
    if (entry->counts && room == sizeof(uint32_t)) bytes = lower_half(bytes);
    *oldlenp = std::min(room, bytes.size());
    if (oldp != nullptr) std::memcpy(oldp, bytes.data(), *oldlenp);
    return room < bytes.size() ? ENOMEM : 0;
}

int numbers_of(const Entry* entry, int* numbers, size_t* count) {
    if (entry == nullptr) return ENOENT;
    if (*count < entry->number.size()) return ENOMEM;
    *count = entry->number.size();
    std::copy(entry->number.begin(), entry->number.end(), numbers);
    return 0;
}

// The result of the C functions for an errno that `work` finds.
template <class Work>
int guarded(Work work) try {
    const int error = work();
    if (error == 0) return 0;
    errno = error;
    return -1;
} catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return -1;
}

}  // namespace
}  // namespace blkscope::freebsd

using namespace blkscope::freebsd;

extern "C" {

// NOLINTNEXTLINE(readability-function-size): the parameters are FreeBSD's
int sysctl(const int* name, unsigned int namelen, void* oldp, size_t* oldlenp, const void* newp,
           size_t /*newlen*/) {
    return guarded([=] {
        const auto is_it = [=](const Entry& entry) {
            return std::equal(name, name + namelen, entry.number.begin(), entry.number.end());
        };
        return read(find(is_it), oldp, oldlenp, newp);
    });
}

int sysctlbyname(const char* name, void* oldp, size_t* oldlenp, const void* newp,
                 size_t /*newlen*/) {
    return guarded([=] { return read(find_name(name), oldp, oldlenp, newp); });
}

int sysctlnametomib(const char* name, int* mibp, size_t* sizep) {
    return guarded([=] { return numbers_of(find_name(name), mibp, sizep); });
}

}  // extern "C"
