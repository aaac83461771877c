// The page's JSON beside that of `iostat -j`: settings, failures, clients and providers.
//
//     {"directories":["/run/kstat"],
//      "providers":[{"pid":4711,"up":true}],
//      "devices":[{"device":"nbd0","queue_depth":128,"connections":1,
//                  "model":{"spec":"hdd7200","drawn":9,"overruns":0},
//                  "limits":[{"name":"iops","spec":"iops=500","exceeded_ns":0}],"limited":null,
//                  "faults":[{"id":"1","rule":"read:error=EIO","hits":2}],
//                  "errors":[{"op":"read","errno":"EIO","count":2}],
//                  "clients":[{"client":"client-1","program":"fio","peer":"process 7"}]}]}
//
// "limited" is the name of a limit that holds requests back at present, or null.
//
// Units:     as the names say. Ownership: nothing is kept. Threads: any. Errors: none.
#pragma once

#include <string>
#include <vector>

#include "tools/web/look.hpp"
#include "tools/web/metrics.hpp"

namespace blkscope::web {

[[nodiscard]] std::string overview_text(const Look& look, const Shown& shows,
                                        const std::vector<std::string>& directories);

}  // namespace blkscope::web
