// Numbers of Linux' /proc, for the names of sysctl(3) that count memory, events and processes.
//
// Threads: any.
// Errors:  no result, if the file or the name is missing.
// Source:  proc(5).
#pragma once

#include <sys/vmmeter.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace blkscope::freebsd {

/// The number behind a name at the beginning of a line, as in "MemFree:  12 kB".
std::optional<uint64_t> number_in(const char* file, std::string_view name);

/// A number of /proc/meminfo in bytes, or in pages.
std::optional<uint64_t> memory_bytes(std::string_view name);
std::optional<uint64_t> memory_pages(std::string_view name);

/// The pages that are neither free, active nor inactive: the kernel's, locked and huge ones.
std::optional<uint64_t> kernel_pages();

/// The number at `index`, from 0 on, in a file of numbers.
std::optional<uint64_t> number_at(const char* file, int index);

/// The processors' name in /proc/cpuinfo; x86 has one.
std::optional<std::string> processor_model();

/// The use of memory and the processes that run or wait for a disk.
std::optional<vmtotal> use_of_memory();

}  // namespace blkscope::freebsd
