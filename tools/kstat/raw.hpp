// The RAW kstats whose bytes this program understands.
//
// A RAW kstat is a C structure, and nothing in it says which. These few are known by their names,
// with all digits taken out, so that cpu_stat:3:cpu_stat3 is a cpu_stat:cpu_stat:
//
//     cpu_stat:cpu_stat   cpu_stat_t      unix:vminfo    vminfo_t
//     unix:var            struct var      unix:ncstats   struct ncstats
//     unix:sysinfo        sysinfo_t       nfs:mntinfo    struct mntinfo_kstat
//
// And two kinds by their module alone: an entry of libdevstat's (devstat), and a blob of stats(3)
// (stats), which says itself what is in it.
//
// Source: illumos' <sys/sysinfo.h>, <sys/var.h>, <sys/dnlc.h> and <nfs/nfs_clnt.h>, for the order
// and the width of the fields.
#pragma once

#include <sys/kstat.h>

#include <vector>

#include "tools/kstat/statistic.hpp"

namespace blkscope::kstat_command {

/// Whether the header's names are those of a known structure.
[[nodiscard]] bool is_known_raw(const kstat_t& ksp);

/// The structure's fields; none if it is not known, or if there is less data than it has. Of a blob
/// what blob.hpp says.
[[nodiscard]] std::vector<Statistic> decode_raw(const kstat_t& ksp);

}  // namespace blkscope::kstat_command
