#include "devstat/libdevstat/errors.hpp"

#include <devstat.h>

__attribute__((visibility("default"))) char devstat_errbuf[DEVSTAT_ERRBUF_SIZE];

namespace blkscope::devstat {

int fail(const std::string& text) {
    const size_t length = text.copy(devstat_errbuf, DEVSTAT_ERRBUF_SIZE - 1);
    devstat_errbuf[length] = '\0';
    return -1;
}

}  // namespace blkscope::devstat
