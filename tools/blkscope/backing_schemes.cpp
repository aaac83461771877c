#include "tools/blkscope/backing_schemes.hpp"

#include <vector>

#include "driver/nbd/client/open_upstream.hpp"
#include "rbd/rbd_backing.hpp"

namespace blkscope {

BackingSchemes backing_schemes() {
    static const auto all = [] {
        std::vector<BackingScheme> schemes(local_schemes().begin(), local_schemes().end());
        for (const char* const name : {"nbd", "nbd+unix", "nbds", "nbds+unix"}) {
            schemes.push_back({name, nbd::open_upstream});
        }
        schemes.push_back({"rbd", rbd::open_rbd});
        return schemes;
    }();
    return all;
}

}  // namespace blkscope
