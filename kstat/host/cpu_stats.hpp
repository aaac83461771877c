// The activity of each processor: cpu:N:sys, cpu:N:vm, cpu:N:intrstat and cpu_stat:N:cpu_statN for
// every online one.
//
// Some numbers exist in Linux for the whole machine only. The first online processor's kstats have
// these numbers, so that the sums are right. Numbers that Linux does not count are 0.
// docs/host-kstats.md lists both.
//
// Units:  ticks of sysconf(_SC_CLK_TCK) per second; nanoseconds; pages.
// Source: Linux' Documentation/filesystems/proc.rst, scheduler/sched-stats.rst.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "kstat/host/data.hpp"
#include "kstat/host/files.hpp"

namespace blkscope::kstat::host {

/// The numbers of the online processors, ascending.
std::vector<int> online_cpus(Files& files);

class CpuStats {
  public:
    explicit CpuStats(Files& files);
    ~CpuStats();

    void list(std::vector<Entry>& entries);

  private:
    struct Interrupts {
        uint64_t devices = 0;
        uint64_t calls = 0;  // calls from one processor to another
    };
    struct Sys;
    struct Vm;
    template <class Counters>
    struct Record;

    static const std::vector<Record<Sys>>& sys_records();
    static const std::vector<Record<Vm>>& vm_records();
    static const std::vector<Record<Sys>>& raw_records();

    // Nothing if the processor is not online. The first one has the counts of the whole machine.
    std::optional<Data> read(int cpu, Data (CpuStats::*how)(int cpu, bool is_first));
    Data read_sys(int cpu, bool is_first);
    Data read_vm(int cpu, bool is_first);
    Data read_raw(int cpu, bool is_first);
    Data read_levels(int cpu, bool is_first);

    Sys count_sys(int cpu, bool is_first);
    void count_whole_machine(Sys& sys);
    Vm count_vm();
    static Vm parse_vm(std::string_view vmstat);
    std::map<int, Interrupts> count_interrupts();

    Files& files_;
    Fresh<std::map<int, Interrupts>> interrupts_;
    std::unique_ptr<Vm> vm_;
    hrtime_t vm_taken_ = 0;
};

}  // namespace blkscope::kstat::host
