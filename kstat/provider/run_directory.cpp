#include "kstat/provider/run_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/run_directory.hpp"
#include "base/throw_errno.hpp"
#include "kstat/provider/access.hpp"

namespace blkscope::kstat {
namespace {

// Like units/blkscope.tmpfiles. Without this, the directory is root's alone.
void open_to_group(int directory) {
    const auto group = find_group("blkscope");
    if (group && fchown(directory, 0, *group) == 0) fchmod(directory, 03775);
}

}  // namespace

Descriptor open_run_directory() {
    const std::string path = run_directory();
    const bool is_new = mkdir(path.c_str(), 0755) == 0;
    if (!is_new && errno != EEXIST) throw_errno("making the run directory " + path);
    Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory.get() < 0) throw_errno("opening the run directory " + path);
    if (is_new && geteuid() == 0 && path == machine_run_directory) open_to_group(directory.get());
    return directory;
}

}  // namespace blkscope::kstat
