// The description of each processor: cpu_info:N:cpu_infoN for every online one.
//
// Source: /proc/cpuinfo, and the topology, cache, cpufreq and cpuidle folders of
// /sys/devices/system/cpu/cpuN.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "kstat/host/data.hpp"
#include "kstat/host/files.hpp"

namespace blkscope::kstat::host {

class CpuInfo {
  public:
    explicit CpuInfo(Files& files) : files_(files) {}

    void list(std::vector<Entry>& entries);

  private:
    struct Cpu;

    std::optional<Data> read(int cpu);
    Data describe(int number);
    void read_cpuinfo(Cpu& cpu);
    void read_topology(Cpu& cpu) const;
    void read_clock(Cpu& cpu) const;
    uint64_t last_level_cache(const Cpu& cpu) const;
    uint64_t idle_states(const Cpu& cpu) const;

    Files& files_;
    std::map<int, Fresh<Data>> kept_;  // one costs reading a dozen files
};

}  // namespace blkscope::kstat::host
