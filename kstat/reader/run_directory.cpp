#include "kstat/reader/run_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/run_directory.hpp"

namespace blkscope::kstat {

int RunDirectory::reopen() {
    Descriptor& descriptor = directory_.descriptor;
    descriptor = Descriptor();  // closes it first, in case that there are too many
    descriptor = Descriptor(::open(run_directory().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!descriptor.is_open()) return errno;
    struct stat status {};
    if (fstat(descriptor.get(), &status) == 0) directory_.owner = status.st_uid;
    return 0;
}

Result<std::vector<std::string>> RunDirectory::sockets() const {
    std::vector<std::string> names;
    if (!directory_.descriptor.is_open()) return names;
    const int again = openat(directory_.descriptor.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (again < 0) return os_error(errno);
    const std::unique_ptr<DIR, int (*)(DIR*)> list(fdopendir(again), closedir);
    if (!list) {
        const int error = errno;
        close(again);
        return os_error(error);
    }
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this call's own
    while (const dirent* entry = readdir(list.get())) {
        if (pid_of_socket(entry->d_name)) names.emplace_back(entry->d_name);
    }
    return names;
}

}  // namespace blkscope::kstat
