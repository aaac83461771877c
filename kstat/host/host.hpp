// The kstats of the Linux host itself. Solaris' kernel publishes these kstats; here the reader
// computes them from /proc and /sys on request.
//
//     cpu_info:N:cpu_infoN  cpu:N:sys  cpu:N:vm  cpu_stat:N:cpu_statN    per online processor
//     unix:0:sysinfo, vminfo, var, system_misc, system_pages, ...        one of a kind
//     linux:U:vda, linux:U:vda,1                                         per disk and partition
//
// Numbers are at most 5 ms old, so that the kstats of one sweep share one look at a file. A second
// read of the same kstat begins another look, and so does list(). ks_snaptime is the time of the
// look, so it differs in each read of a kstat. A kstat whose file is missing is not in the list.
//
// Units:   as <sys/kstat.h>; ks_crtime 0 is the start of the clock, the machine's own.
// Threads: one.
// Errors:  none but std::bad_alloc: text that cannot be read or parsed counts as 0.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kstat/host/data.hpp"

namespace blkscope::kstat::host {

class Host {
  public:
    /// `root` is prepended to /proc and /sys; tests give a folder of their own.
    explicit Host(std::string root = {});
    ~Host();
    Host& operator=(Host&&) = delete;

    /// Finds new and removed processors and disks. Returns the headers of all kstats; ks_kid is the
    /// host's own number, ascending from 1 and never used again.
    std::vector<kstat_t> list();

    /// A listed kstat's data now. Nothing: the kstat's subject was removed.
    std::optional<Data> read(kid_t kid);

    /// kstat number here -> in the reader's chain; the reader alone keeps this map.
    std::map<kid_t, kid_t> kids;

  private:
    struct Parts;
    using Key = std::string;

    static Key key_of(const Entry& entry);

    void look_anew();

    std::unique_ptr<Parts> parts_;
    std::set<kid_t> seen_;  // the kstats that were read in this look
    std::map<Key, kid_t> numbers_;
    std::map<kid_t, Entry> entries_;
    kid_t next_ = 1;
};

}  // namespace blkscope::kstat::host
