#include "kstat/provider/run_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "base/run_directory.hpp"

namespace blkscope::kstat {

Descriptor open_run_directory() {
    const std::string path = run_directory();
    if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
        throw std::system_error(errno, std::generic_category(), "making the run directory " + path);
    }
    Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory.get() < 0) {
        throw std::system_error(errno, std::generic_category(),
                                "opening the run directory " + path);
    }
    return directory;
}

}  // namespace blkscope::kstat
