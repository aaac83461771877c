#include "base/descriptor.hpp"

#include <unistd.h>

namespace blkscope {

Descriptor::~Descriptor() {
    if (number_ >= 0) ::close(number_);
}

}  // namespace blkscope
