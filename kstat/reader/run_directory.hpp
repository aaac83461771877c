// The run directories, for a reader. Each look opens them again, so that a directory created or
// replaced later is found.
//
// Threads: one.
#pragma once

#include <sys/stat.h>

#include <compare>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "kstat/reader/provider.hpp"
#include "kstat/reader/provider_connection.hpp"

namespace blkscope::kstat {

class RunDirectory {
  public:
    explicit RunDirectory(const std::string& path) { directory_.path = path; }

    /// Opens the directory of that path now. Returns an errno; no directory is open then. The
    /// directory of a user, /run/user/UID/kstat, must not be a link.
    int reopen();

    /// From now on the directory has no sockets. has_news() compares with this moment.
    void close();

    /// The names of the sockets in it; none if no directory is open.
    [[nodiscard]] Result<std::vector<std::string>> sockets();

    /// True if a socket came since sockets(), or one went whose path `is_listed`. Costs one system
    /// call unless the directory was changed. Other files are no news.
    [[nodiscard]] bool has_news(const std::function<bool(const std::string&)>& is_listed);

    [[nodiscard]] const Directory& directory() const { return directory_; }

  private:
    /// A socket's file. A later one of the same name is another file.
    struct Entry {
        std::string name;
        ino_t file;
        auto operator<=>(const Entry&) const = default;
    };

    /// A state of the directory at the path; zeros if there is none.
    struct Stamp {
        dev_t device = 0;
        ino_t file = 0;
        time_t seconds = 0;
        long nanoseconds = 0;
        bool operator==(const Stamp&) const = default;
    };

    static Result<std::vector<Entry>> list(Descriptor directory);
    Descriptor open_path() const;
    Stamp look() const;

    Directory directory_;
    Stamp stamp_;             // of a moment before listed_
    bool is_settled_ = true;  // a later change has another stamp
    std::vector<Entry> listed_;
};

/// The directories of reader_directories(). An object of one never moves, because providers refer to it.
class RunDirectories {
  public:
    /// Opens them now. Returns the errno of the first. If it is 0, returns EMFILE or ENFILE if a
    /// descriptor for another one was missing. The others are often not there, or not readable.
    int reopen();

    /// Looks at one directory, and at the next one when called again. As RunDirectory::has_news.
    [[nodiscard]] bool has_news(const std::function<bool(const std::string&)>& is_listed);

    [[nodiscard]] std::map<std::string, RunDirectory>& all() { return all_; }

  private:
    std::map<std::string, RunDirectory> all_;  // by path
    std::string looked_at_;
};

/// Brings `providers`, by the paths of their sockets, up to date. The function finds new providers,
/// asks all, and takes their answers, within one patience for all together. The caller drops those
/// that ended or were replaced. P is a Provider.
///
/// Returns 0, or an errno if providers are missing because this process lacked a descriptor or
/// memory for them.
template <class P>
int look_around(RunDirectories& directories, std::map<std::string, P>& providers) {
    int shortage = 0;
    for (auto& [path, directory] : directories.all()) {
        const auto names = directory.sockets();
        if (!names) {
            shortage = names.error().value();
            continue;
        }
        for (const std::string& name : *names) {
            providers.try_emplace(std::string(path).append("/").append(name), directory.directory(),
                                  name);
        }
    }
    const Deadline deadline = soon();
    for (auto& [name, provider] : providers) provider.ask(deadline);
    for (auto& [name, provider] : providers) {
        provider.hear(deadline);
        if (provider.shortage() != 0) shortage = provider.shortage();
    }
    return shortage;
}

/// Takes the replies to what all were asked ahead, within one patience for all together. First,
/// each reply that has come: providers send the rest of a long one while others are awaited.
template <class P>
void hear_all(std::map<std::string, P>& providers) {
    const Deadline deadline = soon();
    for (auto& [name, provider] : providers) provider.hear_ahead(std::chrono::steady_clock::now());
    for (auto& [name, provider] : providers) provider.hear_ahead(deadline);
}

}  // namespace blkscope::kstat
