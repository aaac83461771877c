// The kstats that exist once: unix:0:sysinfo, vminfo, var, dnlcstats, ncstats, system_misc,
// system_pages, segmap and biostats, and poll:0:pollstats.
//
// Units:  pages of sysconf(_SC_PAGESIZE); ticks of sysconf(_SC_CLK_TCK) per second.
// Source: Linux' Documentation/filesystems/proc.rst, admin-guide/sysctl/fs.rst.
#pragma once

#include <cstdint>
#include <vector>

#include "kstat/host/data.hpp"
#include "kstat/host/files.hpp"

namespace blkscope::kstat::host {

/// A sum to which each second adds an amount. Solaris' clock adds it every second. A reader can
/// only add the present amount for each second since its last look.
class SecondsSum {
  public:
    /// `second`: the machine's, counted from the boot.
    uint64_t add(uint64_t second, uint64_t amount);

  private:
    uint64_t second_ = 0;
    uint64_t sum_ = 0;
};

class System {
  public:
    explicit System(Files& files) : files_(files) {}

    void list(std::vector<Entry>& entries);

  private:
    Data read_sysinfo();
    Data read_vminfo();
    Data read_var();
    Data read_dnlcstats();
    Data read_system_misc();
    Data read_system_pages();
    uint64_t pages(const char* key);

    struct Watermarks {
        uint64_t min, low, high;  // pages
    };
    const Watermarks& watermarks();

    Files& files_;
    Fresh<Watermarks> watermarks_;
    SecondsSum runnable_, occupied_, waiting_;
    SecondsSum free_, reserved_, allocated_, available_, unallocated_;
};

}  // namespace blkscope::kstat::host
