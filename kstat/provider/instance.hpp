// Instance numbers that no other process on this machine uses at the same time: nbd0, nbd1, ...
//
// Number N is the lock on byte N of `<module>.instances` in the run directory. The kernel unlocks
// at the end of the process, so a crash returns the number. The file is for the directory's group.
#pragma once

#include <memory>
#include <string>

namespace blkscope::kstat {

/// A claimed number, until destruction.
class [[nodiscard]] InstanceClaim {
  public:
    InstanceClaim(InstanceClaim&&) noexcept;
    InstanceClaim& operator=(InstanceClaim&&) noexcept;
    ~InstanceClaim();

    int number() const { return number_; }

  private:
    friend InstanceClaim claim_instance(const std::string&, int, int);
    class File;
    InstanceClaim(std::unique_ptr<File> file, int number);

    std::unique_ptr<File> file_;
    int number_;
};

/// Claims `preferred` if it is given (not negative) and free, else the lowest free number from `lowest` on.
///
/// Threads: any. Claims of one process exclude each other, too. A child of fork() has none.
/// Errors:  std::system_error: the run directory cannot be created or written; no number is free.
InstanceClaim claim_instance(const std::string& module, int preferred = -1, int lowest = 0);

}  // namespace blkscope::kstat
