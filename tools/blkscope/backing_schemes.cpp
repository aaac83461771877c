#include "tools/blkscope/backing_schemes.hpp"

namespace blkscope {

BackingSchemes backing_schemes() {
    return local_schemes();
}

}  // namespace blkscope
