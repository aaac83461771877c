// Numbers of Linux' /proc, for the names of sysctl(3) that count memory, events and processes.
//
// Threads: any.
// Errors:  no result, if the file or the name is missing.
// Source:  proc(5).
#pragma once

#include <sys/vmmeter.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace blkscope::freebsd {

/// A file whose lines are a name and a number, as "MemFree:  12 kB". The file is read once, so all
/// numbers are of one moment.
class NamedNumbers {
  public:
    explicit NamedNumbers(const char* file);

    [[nodiscard]] std::optional<uint64_t> at(std::string_view name) const;
    /// The sum of some; nothing if one is missing.
    [[nodiscard]] std::optional<uint64_t> sum(std::initializer_list<std::string_view> names) const;

  private:
    std::map<std::string, uint64_t, std::less<>> numbers_;
};

/// KiB as pages, rounded down.
std::optional<uint64_t> pages_of_kib(std::optional<uint64_t> kib);

/// A number of /proc/meminfo in pages.
std::optional<uint64_t> memory_pages(std::string_view name);

/// The pages that are neither free, active nor inactive: the kernel's, locked and huge ones.
std::optional<uint64_t> kernel_pages();

/// The number at `index`, from 0 on, in a file of numbers.
std::optional<uint64_t> number_at(const char* file, int index);

/// The processors' name in /proc/cpuinfo; x86 has one.
std::optional<std::string> processor_model();

/// The use of memory, and the threads that run or wait for a disk.
std::optional<vmtotal> use_of_memory();

}  // namespace blkscope::freebsd
