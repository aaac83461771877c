// The run directories, for a reader. Each look opens them again, so that a directory created or
// replaced later is found.
//
// Threads: one.
#pragma once

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

    void close() { directory_.descriptor = Descriptor(); }

    /// The names of the sockets in it; none if no directory is open.
    [[nodiscard]] Result<std::vector<std::string>> sockets() const;

    [[nodiscard]] const Directory& directory() const { return directory_; }

  private:
    Directory directory_;
};

/// The directories of reader_directories(). An object of one never moves, because providers refer to it.
class RunDirectories {
  public:
    /// Opens them now. Returns the errno of the first. If it is 0, returns EMFILE or ENFILE if a
    /// descriptor for another one was missing. The others are often not there, or not readable.
    int reopen();

    [[nodiscard]] const std::map<std::string, RunDirectory>& all() const { return all_; }

  private:
    std::map<std::string, RunDirectory> all_;  // by path
};

/// Brings `providers`, by the paths of their sockets, up to date. The function finds new providers,
/// asks all, and takes their answers, within one patience for all together. The caller drops those
/// that ended or were replaced. P is a Provider.
///
/// Returns 0, or an errno if providers are missing because this process lacked a descriptor or
/// memory for them.
template <class P>
int look_around(const RunDirectories& directories, std::map<std::string, P>& providers) {
    int shortage = 0;
    for (const auto& [path, directory] : directories.all()) {
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
