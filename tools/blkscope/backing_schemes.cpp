#include "tools/blkscope/backing_schemes.hpp"

#include <vector>

#include "rbd/rbd_backing.hpp"

namespace blkscope {

BackingSchemes backing_schemes() {
    static const std::vector<BackingScheme> schemes = [] {
        const BackingSchemes local = local_schemes();
        std::vector<BackingScheme> all(local.begin(), local.end());
        all.push_back({"rbd", rbd::open_rbd});
        return all;
    }();
    return schemes;
}

}  // namespace blkscope
