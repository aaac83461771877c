// libkvm: a handle for this machine, which has no kernel memory to read.
#include <kvm.h>
#include <limits.h>
#include <string.h>
#include <sys/dkstat.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

struct __kvm {
    char why[64];
};

// libdevstat refers to the variable by its name. The one handle means the same as NULL.
kvm_t kvm_this_machine{"there is no kernel memory to read here"};

namespace {

// A core file is another machine, or another time; no file at all is this one, as are these two.
bool means_this_machine(const char* corefile) {
    return corefile == nullptr || std::strcmp(corefile, "/dev/null") == 0 ||
           std::strcmp(corefile, "/dev/mem") == 0;
}

kvm_t* open(const char* corefile) {
    if (means_this_machine(corefile)) return &kvm_this_machine;
    errno = ENOTSUP;
    return nullptr;
}

// The name of an area without its folder, or with /dev/ before it: of a file, its whole path.
std::string swap_name(const std::string& path, int flags) {
    constexpr std::string_view dev = "/dev/";
    const bool is_device = path.starts_with(dev);
    return is_device && (flags & SWIF_DEV_PREFIX) == 0 ? path.substr(dev.size()) : path;
}

kvm_swap swap_entry(const std::string& name, unsigned long long total, unsigned long long used) {
    const auto page = static_cast<unsigned long long>(sysconf(_SC_PAGESIZE)) / 1024;
    kvm_swap entry{};
    strlcpy(entry.ksw_devname, name.c_str(), sizeof entry.ksw_devname);
    entry.ksw_total = static_cast<unsigned>(total / page);
    entry.ksw_used = static_cast<unsigned>(used / page);
    return entry;
}

}  // namespace

extern "C" {

kvm_t* kvm_openfiles(const char*, const char* corefile, const char*, int, char* errbuf) {
    kvm_t* const kd = open(corefile);
    if (kd == nullptr && errbuf != nullptr) {
        std::snprintf(errbuf, _POSIX2_LINE_MAX, "%s: %s", corefile, kvm_this_machine.why);
    }
    return kd;
}

kvm_t* kvm_open(const char*, const char* corefile, const char*, int, const char* errstr) {
    kvm_t* const kd = open(corefile);
    if (kd == nullptr && errstr != nullptr) {
        std::fprintf(stderr, "%s: %s: %s\n", errstr, corefile, kvm_this_machine.why);
    }
    return kd;
}

int kvm_close(kvm_t*) {
    return 0;
}

char* kvm_geterr(kvm_t*) {
    return kvm_this_machine.why;
}

int kvm_nlist(kvm_t*, struct nlist* nl) {
    int missing = 0;
    for (; nl->n_name != nullptr && nl->n_name[0] != '\0'; ++nl, ++missing) {
        nl->n_type = 0;
        nl->n_value = 0;
    }
    return missing;
}

ssize_t kvm_kread(kvm_t* kd, unsigned long address, void* to, size_t bytes) {
    return kvm_read(kd, address, to, bytes);
}

ssize_t kvm_read(kvm_t*, unsigned long, void*, size_t) {
    errno = ENOTSUP;
    return -1;
}

int kvm_getcptime(kvm_t*, long* times) {
    size_t size = CPUSTATES * sizeof *times;
    return sysctlbyname("kern.cp_time", times, &size, nullptr, 0);
}

int kvm_getswapinfo(kvm_t*, kvm_swap* swaps, int room, int flags) {
    if (swaps == nullptr) return 0;
    if (room < 1 || (flags & ~SWIF_DEV_PREFIX) != 0) return -1;
    std::ifstream file("/proc/swaps");
    std::string line;
    std::getline(file, line);  // the title
    int count = 0;
    unsigned long long all = 0;
    unsigned long long all_used = 0;
    for (std::string path, type; std::getline(file, line);) {
        unsigned long long total = 0;  // KiB, as is `used`
        unsigned long long used = 0;
        if (!(std::istringstream(line) >> path >> type >> total >> used)) continue;
        all += total;
        all_used += used;
        if (count < room - 1) swaps[count++] = swap_entry(swap_name(path, flags), total, used);
    }
    swaps[count] = swap_entry("Total", all, all_used);
    return count;
}

int kvm_getloadavg(kvm_t*, double averages[], int count) {
    return getloadavg(averages, count);
}

}  // extern "C"
