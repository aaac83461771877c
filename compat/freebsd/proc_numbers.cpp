#include "proc_numbers.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

namespace blkscope::freebsd {
namespace {

uint64_t page_bytes() {
    return static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

int16_t threads(uint64_t count) {
    return static_cast<int16_t>(std::min<uint64_t>(count, std::numeric_limits<int16_t>::max()));
}

}  // namespace

std::optional<uint64_t> number_in(const char* file, std::string_view name) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string found;
        uint64_t number = 0;
        if (words >> found && found == name && words >> number) return number;
    }
    return std::nullopt;
}

std::optional<uint64_t> memory_bytes(std::string_view name) {
    const std::optional<uint64_t> kib = number_in("/proc/meminfo", name);
    if (!kib) return std::nullopt;
    return *kib * 1024;
}

std::optional<uint64_t> memory_pages(std::string_view name) {
    const std::optional<uint64_t> bytes = memory_bytes(name);
    if (!bytes) return std::nullopt;
    return *bytes / page_bytes();
}

std::optional<uint64_t> kernel_pages() {
    const auto all = memory_pages("MemTotal:");
    const auto free = memory_pages("MemFree:");
    const auto active = memory_pages("Active:");
    const auto inactive = memory_pages("Inactive:");
    if (!all || !free || !active || !inactive) return std::nullopt;
    const uint64_t others = *free + *active + *inactive;
    return *all > others ? *all - others : 0;
}

std::optional<uint64_t> number_at(const char* file, int index) {
    std::ifstream in(file);
    std::string word;
    for (int i = 0; i <= index; ++i) in >> word;
    uint64_t number = 0;
    if (!in || !(std::istringstream(word) >> number)) return std::nullopt;
    return number;
}

std::optional<std::string> processor_model() {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);) {
        const size_t colon = line.find(": ");
        if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
    }
    return std::nullopt;
}

std::optional<vmtotal> use_of_memory() {
    const auto committed = memory_pages("Committed_AS:");
    const auto anonymous = memory_pages("AnonPages:");
    const auto shared = memory_pages("Shmem:");
    const auto free = memory_pages("MemFree:");
    const auto running = number_in("/proc/stat", "procs_running");
    const auto blocked = number_in("/proc/stat", "procs_blocked");
    if (!committed || !anonymous || !shared || !free || !running || !blocked) return std::nullopt;
    vmtotal use{};
    use.t_vm = use.t_avm = *committed;
    use.t_rm = use.t_arm = *anonymous + *shared;
    use.t_vmshr = use.t_avmshr = use.t_rmshr = use.t_armshr = *shared;
    use.t_free = *free;
    use.t_rq = threads(*running);
    use.t_dw = threads(*blocked);
    return use;
}

}  // namespace blkscope::freebsd
