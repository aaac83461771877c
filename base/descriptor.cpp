#include "base/descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace blkscope {

void occupy_standard_descriptors() {
    for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(number, F_GETFD) >= 0) continue;
        const int opened = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        if (opened >= 0 && opened != number) close(opened);  // those below are open
    }
}

Descriptor::~Descriptor() {
    if (number_ >= 0) ::close(number_);
}

}  // namespace blkscope
