// The providers whose kstats a look lacks, because they do not answer.
//
//     socket             kstats in the chain           silent
//     no listener        any                           no: the provider has ended
//     a listener         one can be read               no
//     a listener         none can be read in time      yes
//     a listener         none                          if the provider keeps a closed connection
//
// libkstat's chain does not tell a provider that never answered from one that has ended.
//
// Threads: one for each chain.
// Source:  kstat_read(3KSTAT): ETIMEDOUT of a provider that does not answer, ENXIO of one that ended.
#pragma once

#include <kstat.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace blkscope::iostat {

/// The paths of the sockets in the run directories, by the process ids in their names.
[[nodiscard]] std::map<int, std::string> provider_sockets();

/// The paths of the sockets of the providers that do not answer. `late` has the process ids of
/// those whose answers to a reading of the chain came too late. The chain may be null. Waits 300 ms
/// at most for providers without any kstat in the chain, for all together.
[[nodiscard]] std::vector<std::string> silent_providers(kstat_ctl_t* chain,
                                                        const std::set<int>& late);

}  // namespace blkscope::iostat
