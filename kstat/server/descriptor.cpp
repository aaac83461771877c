#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <kstat/server/descriptor.hpp>
#include <kstat/server/fork.hpp>
#include <kstat/wire/run_directory.hpp>
#include <system_error>

namespace blkscope::kstat {

Descriptor::~Descriptor() {
    if (number_ >= 0) ::close(number_);
}

NotInherited::NotInherited(int number) : number_(number) {
    watch_forks();
    OwnDescriptors::of_this_process().add(number);
}

NotInherited::~NotInherited() {
    OwnDescriptors::of_this_process().remove(number_);
}

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
