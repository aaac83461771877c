// The RAW kstats whose bytes this program can decode.
//
// A RAW kstat is a C structure, but its data do not name the structure. This program recognises
// the following few by module and name. All digits are removed before the comparison, so that
// cpu_stat:3:cpu_stat3 is a cpu_stat:cpu_stat:
//
//     cpu_stat:cpu_stat   cpu_stat_t      unix:vminfo    vminfo_t
//     unix:var            struct var      unix:ncstats   struct ncstats
//     unix:sysinfo        sysinfo_t       nfs:mntinfo    struct mntinfo_kstat
//
// Two structures are recognised by their module alone. An entry of libdevstat has the module
// devstat. A blob of stats(3) has the module stats; the blob describes its own contents.
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

/// The structure's fields. Empty if the structure is unknown, or if the data are shorter than the
/// structure. For a blob, the statistics that blob.hpp describes.
[[nodiscard]] std::vector<Statistic> decode_raw(const kstat_t& ksp);

}  // namespace blkscope::kstat_command
