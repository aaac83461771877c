#include "proc_numbers.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

namespace blkscope::freebsd {
namespace {

constexpr const char* memory_file = "/proc/meminfo";

int16_t threads(uint64_t count) {
    return static_cast<int16_t>(std::min<uint64_t>(count, std::numeric_limits<int16_t>::max()));
}

}  // namespace

NamedNumbers::NamedNumbers(const char* file) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string name;
        uint64_t number = 0;
        if (words >> name >> number) numbers_.emplace(name, number);
    }
}

std::optional<uint64_t> NamedNumbers::at(std::string_view name) const {
    const auto found = numbers_.find(name);
    if (found == numbers_.end()) return std::nullopt;
    return found->second;
}

std::optional<uint64_t> NamedNumbers::sum(std::initializer_list<std::string_view> names) const {
    uint64_t sum = 0;
    for (const std::string_view name : names) {
        const std::optional<uint64_t> number = at(name);
        if (!number) return std::nullopt;
        sum += *number;
    }
    return sum;
}

std::optional<uint64_t> pages_of_kib(std::optional<uint64_t> kib) {
    if (!kib) return std::nullopt;
    return *kib * 1024 / static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

std::optional<uint64_t> memory_pages(std::string_view name) {
    return pages_of_kib(NamedNumbers(memory_file).at(name));
}

std::optional<uint64_t> kernel_pages() {
    const NamedNumbers memory(memory_file);
    const auto all = memory.at("MemTotal:");
    const auto others = memory.sum({"MemFree:", "Active:", "Inactive:"});
    if (!all || !others) return std::nullopt;
    return pages_of_kib(*all > *others ? *all - *others : 0);
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
    const NamedNumbers memory(memory_file);
    const NamedNumbers processes("/proc/stat");
    const auto committed = pages_of_kib(memory.at("Committed_AS:"));
    const auto shared = pages_of_kib(memory.at("Shmem:"));
    const auto resident = pages_of_kib(memory.sum({"AnonPages:", "Shmem:"}));
    const auto free = pages_of_kib(memory.at("MemFree:"));
    const auto running = processes.at("procs_running");
    const auto blocked = processes.at("procs_blocked");
    if (!committed || !shared || !resident || !free || !running || !blocked) return std::nullopt;
    vmtotal use{};
    use.t_vm = use.t_avm = *committed;
    use.t_rm = use.t_arm = *resident;
    use.t_vmshr = use.t_avmshr = use.t_rmshr = use.t_armshr = *shared;
    use.t_free = *free;
    use.t_rq = threads(*running);
    use.t_dw = threads(*blocked);
    return use;
}

}  // namespace blkscope::freebsd
