// sysctlbyname: the names of freebsd/include/sys/sysctl.h.
#include <devstat.h>
#include <kstat.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace blkscope::freebsd {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
Bytes bytes_of(const T& value) {
    Bytes bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

// Nothing to be had of libdevstat, which keeps the errno to itself.
template <class T>
int answer(T value, Bytes& bytes) {
    if (value < 0) return EIO;
    bytes = bytes_of(value);
    return 0;
}

int all_devices(Bytes& bytes) {
    devinfo info{};
    statinfo stats{};
    stats.dinfo = &info;
    const int result = devstat_getdevs(nullptr, &stats);
    const std::unique_ptr<uint8_t, void (*)(void*)> memory(info.mem_ptr, std::free);
    if (result < 0) return EBUSY;
    bytes.resize(sizeof(long) + static_cast<size_t>(info.numdevs) * sizeof(struct ::devstat));
    std::memcpy(bytes.data(), info.mem_ptr, bytes.size());
    return 0;
}

// Waiting for I/O is idle, and interrupts of both kinds are one. Source: proc(5), /proc/stat.
int cpu_time(Bytes& bytes) {
    std::ifstream in("/proc/stat");
    std::string cpu;
    std::array<long, 7> linux_time{};  // user nice system idle iowait irq softirq
    in >> cpu;
    for (long& time : linux_time) in >> time;
    if (!in) return EIO;
    std::array<long, CPUSTATES> time{};
    time[CP_USER] = linux_time[0];
    time[CP_NICE] = linux_time[1];
    time[CP_SYS] = linux_time[2];
    time[CP_IDLE] = linux_time[3] + linux_time[4];
    time[CP_INTR] = linux_time[5] + linux_time[6];
    bytes = bytes_of(time);
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

// An errno.
int look_up(const std::string& name, Bytes& bytes) {
    if (name == "kern.devstat.numdevs") return answer(devstat_getnumdevs(nullptr), bytes);
    if (name == "kern.devstat.generation") return answer(devstat_getgeneration(nullptr), bytes);
    if (name == "kern.devstat.version") return answer(devstat_getversion(nullptr), bytes);
    if (name == "kern.devstat.all") return all_devices(bytes);
    if (name == "kern.cp_time") return cpu_time(bytes);
    if (name == "kern.tty_nin") return characters("rawch", bytes);
    if (name == "kern.tty_nout") return characters("outch", bytes);
    if (name == "hw.ncpu") return answer(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), bytes);
    return ENOENT;
}

int sysctl_by_name(const char* name, void* oldp, size_t* oldlenp, const void* newp) {
    if (newp != nullptr) return EPERM;
    Bytes bytes;
    if (const int error = look_up(name, bytes)) return error;
    if (oldlenp == nullptr) return 0;
    const size_t room = *oldlenp;
    *oldlenp = bytes.size();
    if (oldp == nullptr) return 0;
    if (room < bytes.size()) return ENOMEM;
    std::memcpy(oldp, bytes.data(), bytes.size());
    return 0;
}

}  // namespace
}  // namespace blkscope::freebsd

extern "C" int sysctlbyname(const char* name, void* oldp, size_t* oldlenp, const void* newp,
                            size_t /*newlen*/) try {
    const int error = blkscope::freebsd::sysctl_by_name(name, oldp, oldlenp, newp);
    if (error == 0) return 0;
    errno = error;
    return -1;
} catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return -1;
}
