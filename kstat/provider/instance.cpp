#include "kstat/provider/instance.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>

#include "base/descriptor.hpp"
#include "base/throw_errno.hpp"
#include "kstat/provider/fork.hpp"
#include "kstat/provider/run_directory.hpp"

namespace blkscope::kstat {
namespace {

constexpr int numbers_max = 1 << 20;
constexpr int create_attempts_max = 4;

// Another user of the directory's group claims numbers in the same file. In a directory with the sticky
// bit, Linux refuses O_CREAT for another user's file (fs.protected_regular). Hence there are two calls.
Descriptor open_or_create(int directory, const std::string& name) {
    constexpr int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
    Descriptor file;
    for (int attempt = 0; attempt < create_attempts_max && !file.is_open(); ++attempt) {
        file = Descriptor(::openat(directory, name.c_str(), flags));
        if (file.is_open() || errno != ENOENT) break;
        file = Descriptor(::openat(directory, name.c_str(), flags | O_CREAT | O_EXCL, 0660));
        if (!file.is_open() && errno != EEXIST) break;
    }
    return file;
}

// Lets the directory's group use the file, whatever the umask, and no other user. Any process that can
// open the file could take a lock. The owner alone can set this.
void share_with_group(int directory, int file) {
    struct stat of_directory {};
    struct stat of_file {};
    if (fstat(directory, &of_directory) != 0 || fstat(file, &of_file) != 0) return;
    if (of_file.st_uid != geteuid()) return;
    const bool has_group =
        of_file.st_gid == of_directory.st_gid || fchown(file, uid_t(-1), of_directory.st_gid) == 0;
    if (has_group && (of_file.st_mode & 0777) != 0660) fchmod(file, 0660);
}

}  // namespace

// The open file that owns the lock. Each claim has its own, so that claims of one process exclude
// each other.
class InstanceClaim::File {
  public:
    explicit File(const std::string& module)
        : what_("claiming an instance number of " + module),
          descriptor_(open(module)),
          not_inherited_(descriptor_.get()) {}

    bool lock(int number) {
        struct flock range {};
        range.l_type = F_WRLCK;
        range.l_whence = SEEK_SET;
        range.l_start = number;
        range.l_len = 1;
        if (fcntl(descriptor_.get(), F_OFD_SETLK, &range) == 0) return true;
        if (errno != EAGAIN && errno != EACCES) fail(errno);
        return false;
    }

    [[noreturn]] void fail(int error) const { throw_errno(what_, error); }

  private:
    Descriptor open(const std::string& module) {
        if (module.empty() || module.find('/') != std::string::npos) fail(EINVAL);
        const Descriptor directory = open_run_directory();
        Descriptor file = open_or_create(directory.get(), module + ".instances");
        if (!file.is_open()) fail(errno);
        share_with_group(directory.get(), file.get());
        return file;
    }

    std::string what_;
    Descriptor descriptor_;
    NotInherited not_inherited_;
};

InstanceClaim::InstanceClaim(std::unique_ptr<File> file, int number)
    : file_(std::move(file)), number_(number) {}
InstanceClaim::InstanceClaim(InstanceClaim&&) noexcept = default;
InstanceClaim& InstanceClaim::operator=(InstanceClaim&&) noexcept = default;
InstanceClaim::~InstanceClaim() = default;

InstanceClaim claim_instance(const std::string& module, int preferred, int lowest) {
    assert(lowest >= 0);
    auto file = std::make_unique<InstanceClaim::File>(module);
    if (preferred >= 0 && file->lock(preferred)) return {std::move(file), preferred};
    for (int number = lowest; number < numbers_max; ++number) {
        if (file->lock(number)) return {std::move(file), number};
    }
    file->fail(ENOSPC);
}

}  // namespace blkscope::kstat
