#include "kstat/provider/instance.hpp"

#include <fcntl.h>

#include <cerrno>
#include <system_error>

#include "base/descriptor.hpp"
#include "kstat/provider/fork.hpp"
#include "kstat/provider/run_directory.hpp"

namespace blkscope::kstat {

namespace {

constexpr int numbers_max = 1 << 20;

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

    [[noreturn]] void fail(int error) const {
        throw std::system_error(error, std::generic_category(), what_);
    }

  private:
    Descriptor open(const std::string& module) {
        if (module.empty() || module.find('/') != std::string::npos) fail(EINVAL);
        const Descriptor directory = open_run_directory();
        // Readable by this user only: any process that can open the file could take a lock.
        Descriptor file(::openat(directory.get(), (module + ".instances").c_str(),
                                 O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (file.get() < 0) fail(errno);
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

InstanceClaim claim_instance(const std::string& module, int preferred) {
    auto file = std::make_unique<InstanceClaim::File>(module);
    if (preferred >= 0 && file->lock(preferred)) return {std::move(file), preferred};
    for (int number = 0; number < numbers_max; ++number) {
        if (file->lock(number)) return {std::move(file), number};
    }
    file->fail(ENOSPC);
}

}  // namespace blkscope::kstat
