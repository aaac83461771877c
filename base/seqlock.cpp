#include "base/seqlock.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace blkscope {
namespace {

bool membarrier(int command) {
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

}  // namespace

void make_stores_visible() {
    static const bool registered = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
    if (registered) membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

}  // namespace blkscope
