#include "tools/blkscope/backing_schemes.hpp"

#include <vector>

#include "driver/nbd/client/open_upstream.hpp"
#include "rbd/rbd_backing.hpp"

namespace blkscope {

BackingSchemes backing_schemes() {
    // Never destroyed: at the end of the process another thread may still open a backing.
    static const auto* const all = [] {
        auto* const schemes =
            new std::vector<BackingScheme>(local_schemes().begin(), local_schemes().end());
        for (const char* const name : {"nbd", "nbd+unix", "nbds", "nbds+unix"}) {
            schemes->push_back({name, nbd::open_upstream});
        }
        schemes->push_back({"rbd", rbd::open_rbd});
        return schemes;
    }();
    return *all;
}

}  // namespace blkscope
