#include "kstat/reader/run_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <iterator>
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

// The kernel's clock of file times moves in ticks. Two changes within one tick have the same time.
bool is_before_this_tick(time_t seconds, long nanoseconds) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return seconds < now.tv_sec || (seconds == now.tv_sec && nanoseconds < now.tv_nsec);
}

}  // namespace

void RunDirectory::close() {
    directory_.descriptor = Descriptor();
    listed_.clear();
    stamp_ = look();
    is_settled_ = is_before_this_tick(stamp_.seconds, stamp_.nanoseconds);
}

Descriptor RunDirectory::open_path() const {
    const int no_link = is_of_user(directory_.path) ? O_NOFOLLOW : 0;
    return Descriptor(
        ::open(directory_.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | no_link));
}

RunDirectory::Stamp RunDirectory::look() const {
    struct stat status {};
    const int no_link = is_of_user(directory_.path) ? AT_SYMLINK_NOFOLLOW : 0;
    if (fstatat(AT_FDCWD, directory_.path.c_str(), &status, no_link) != 0) return {};
    return {status.st_dev, status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

int RunDirectory::reopen() {
    Descriptor& descriptor = directory_.descriptor;
    close();  // first, in case that there are too many
    descriptor = open_path();
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

bool RunDirectories::has_news(const std::function<bool(const std::string&)>& is_listed) {
    if (all_.empty()) return false;
    auto at = all_.upper_bound(looked_at_);
    if (at == all_.end()) at = all_.begin();
    looked_at_ = at->first;
    return at->second.has_news(is_listed);
}

Result<std::vector<std::string>> RunDirectory::sockets() {
    std::vector<std::string> names;
    if (!directory_.descriptor.is_open()) return names;
    auto entries = list(
        Descriptor(openat(directory_.descriptor.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
    if (!entries) return entries.error();
    listed_ = std::move(*entries);
    for (const Entry& entry : listed_) names.push_back(entry.name);
    return names;
}

// In ascending order. `directory` was just opened: a failure has left its errno.
Result<std::vector<RunDirectory::Entry>> RunDirectory::list(Descriptor directory) {
    if (!directory.is_open()) return os_error(errno);
    const std::unique_ptr<DIR, int (*)(DIR*)> list(fdopendir(directory.get()), closedir);
    if (!list) return os_error(errno);
    static_cast<void>(directory.release());  // the list closes it
    std::vector<Entry> entries;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this call's own
    while (const dirent* entry = readdir(list.get())) {
        if (pid_of_socket(entry->d_name)) entries.push_back({entry->d_name, entry->d_ino});
    }
    std::ranges::sort(entries);
    return entries;
}

// An unsettled stamp says nothing of the rest of its tick. After the tick, one list does.
bool RunDirectory::has_news(const std::function<bool(const std::string&)>& is_listed) {
    const Stamp now = look();
    if (now == stamp_ && is_settled_) return false;
    const bool is_settled = is_before_this_tick(now.seconds, now.nanoseconds);
    if (now == stamp_ && !is_settled) return false;
    auto found = list(open_path());
    if (!found) {
        const int error = found.error().value();
        if (error == EMFILE || error == ENFILE || error == ENOMEM) return true;
        found = std::vector<Entry>();  // an update finds none either
    }
    std::vector<Entry> came;
    std::ranges::set_difference(*found, listed_, std::back_inserter(came));
    std::vector<Entry> went;
    std::ranges::set_difference(listed_, *found, std::back_inserter(went));
    const auto is_missed = [&](const Entry& entry) {
        return is_listed(directory_.path + "/" + entry.name);
    };
    if (!came.empty() || std::ranges::any_of(went, is_missed)) return true;
    listed_ = std::move(*found);
    stamp_ = now;
    is_settled_ = is_settled;
    return false;
}

}  // namespace blkscope::kstat
