#include "kstat/reader/run_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

#include "base/run_directory.hpp"

namespace blkscope::kstat {
namespace {

// /run/user/UID/kstat. Its user could put a link there, to have root read another place.
bool is_of_user(std::string_view path) {
    return path.starts_with("/run/user/");
}

// A group creates files there, root owns it, and others can create none.
bool is_for_group(const struct stat& status) {
    return status.st_uid == 0 && (status.st_mode & (S_ISVTX | S_IWGRP | S_IWOTH)) ==
                                     static_cast<mode_t>(S_ISVTX | S_IWGRP);
}

}  // namespace

int RunDirectory::reopen() {
    Descriptor& descriptor = directory_.descriptor;
    close();  // first, in case that there are too many
    const int no_link = is_of_user(directory_.path) ? O_NOFOLLOW : 0;
    descriptor =
        Descriptor(::open(directory_.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | no_link));
    if (!descriptor.is_open()) return errno;
    struct stat status {};
    if (fstat(descriptor.get(), &status) == 0) {
        directory_.owner = status.st_uid;
        directory_.is_for_group = is_for_group(status);
    }
    return 0;
}

int RunDirectories::reopen() {
    const std::vector<std::string> paths = reader_directories();
    for (auto& [path, directory] : all_) {
        if (std::ranges::find(paths, path) == paths.end()) directory.close();
    }
    int result = 0;
    for (const std::string& path : paths) {
        const int error = all_.try_emplace(path, path).first->second.reopen();
        const bool is_missed = path == paths.front() || error == EMFILE || error == ENFILE;
        if (result == 0 && is_missed) result = error;
    }
    return result;
}

Result<std::vector<std::string>> RunDirectory::sockets() const {
    std::vector<std::string> names;
    if (!directory_.descriptor.is_open()) return names;
    const int again = openat(directory_.descriptor.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (again < 0) return os_error(errno);
    const std::unique_ptr<DIR, int (*)(DIR*)> list(fdopendir(again), closedir);
    if (!list) {
        const int error = errno;
        ::close(again);
        return os_error(error);
    }
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this call's own
    while (const dirent* entry = readdir(list.get())) {
        if (pid_of_socket(entry->d_name)) names.emplace_back(entry->d_name);
    }
    return names;
}

}  // namespace blkscope::kstat
