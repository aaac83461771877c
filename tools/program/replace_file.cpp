#include "tools/program/replace_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/descriptor.hpp"
#include "base/throw_errno.hpp"

namespace blkscope::program {
namespace {

namespace fs = std::filesystem;

bool write_all(int fd, std::string_view content) {
    while (!content.empty()) {
        const ssize_t bytes = ::write(fd, content.data(), content.size());
        if (bytes >= 0) {
            content.remove_prefix(static_cast<size_t>(bytes));
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

// A file that goes away again, unless it takes the place of another.
class NewFile {
  public:
    explicit NewFile(const std::string& beside)
        : path_(beside + ".XXXXXX"), fd_(::mkostemp(path_.data(), O_CLOEXEC)) {}
    ~NewFile() {
        if (fd_.is_open()) ::unlink(path_.c_str());
    }
    NewFile& operator=(NewFile&&) = delete;

    [[nodiscard]] bool is_open() const { return fd_.is_open(); }
    bool write(std::string_view content) { return write_all(fd_.get(), content); }

    // The owner stays if we may set one.
    bool take_rights_of(const struct stat& old) {
        if (::fchown(fd_.get(), old.st_uid, old.st_gid) != 0 && errno != EPERM) return false;
        return ::fchmod(fd_.get(), old.st_mode & 07777) == 0;
    }
    bool take_usual_rights() {
        const mode_t mask = ::umask(0);
        ::umask(mask);
        return ::fchmod(fd_.get(), 0666 & ~mask) == 0;
    }
    bool rename_to(const std::string& path) {
        if (::rename(path_.c_str(), path.c_str()) != 0) return false;
        fd_ = Descriptor();
        return true;
    }

  private:
    std::string path_;
    Descriptor fd_;
};

std::optional<struct stat> status_of(const std::string& path) {
    struct stat is {};
    if (::stat(path.c_str(), &is) != 0) return {};
    return is;
}

// The names of open descriptors are in these folders: another file would be no longer the one that is open.
bool is_written_in_place(const std::string& path, const std::optional<struct stat>& old) {
    return (old && !S_ISREG(old->st_mode)) || path.starts_with("/dev/") ||
           path.starts_with("/proc/");
}

// The file itself, if `path` is a link to it.
std::string target_of(const std::string& path) {
    std::error_code none;
    const fs::path target = fs::canonical(path, none);
    return target.empty() ? path : target.string();
}

void write_in_place(const std::string& path, std::string_view content) {
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file.is_open() || !write_all(file.get(), content)) throw_errno(path);
}

}  // namespace

void replace_file(const std::string& path, std::string_view content) {
    const auto old = status_of(path);
    if (is_written_in_place(path, old)) return write_in_place(path, content);
    if (old && ::access(path.c_str(), W_OK) != 0) throw_errno(path);
    const std::string target = target_of(path);
    NewFile made(target);
    const bool no_place = !made.is_open() && (errno == EACCES || errno == ENAMETOOLONG);
    if (no_place) return write_in_place(path, content);
    if (!made.is_open()) throw_errno(path);
    if (!(old ? made.take_rights_of(*old) : made.take_usual_rights()) || !made.write(content) ||
        !made.rename_to(target)) {
        throw_errno(path);
    }
}

void require_replaceable(const std::string& path) {
    if (const auto old = status_of(path)) {
        if (S_ISDIR(old->st_mode)) errno = EISDIR;
        if (S_ISDIR(old->st_mode) || ::access(path.c_str(), W_OK) != 0) throw_errno(path);
    } else if (const NewFile tried(path); !tried.is_open()) {
        throw_errno(path);
    }
}

}  // namespace blkscope::program
