// Folders of a test's own.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace blkscope::test {

/// A new folder in `place`, and its path. The folder is removed with all that is in it. Throws
/// std::system_error if there can be none: the test fails, and names the folder.
class TemporaryFolder : public std::filesystem::path {
  public:
    explicit TemporaryFolder(const std::string& place = "/tmp") {
        std::string name = place + "/blkscope_test.XXXXXX";
        if (mkdtemp(name.data()) == nullptr) {
            throw std::system_error(errno, std::generic_category(), "a new folder in " + place);
        }
        assign(name);
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(*this, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
};

/// The same as the run directory of this process.
class RunFolder : public TemporaryFolder {
  public:
    explicit RunFolder(const std::string& place = "/tmp") : TemporaryFolder(place) {
        setenv("KSTAT_DIR", c_str(), 1);
    }
};

}  // namespace blkscope::test
