// The run directory, for a reader. Each look opens the directory again, so that a directory created
// or replaced later is found.
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
    /// Opens the directory of that path now. Returns an errno; no directory is open then.
    int reopen();

    /// The names of the sockets in it; none if no directory is open.
    [[nodiscard]] Result<std::vector<std::string>> sockets() const;

    [[nodiscard]] const Directory& directory() const { return directory_; }

  private:
    Directory directory_;
};

/// Brings `providers`, by the names of their sockets, up to date. The function finds new providers,
/// asks all, and takes their answers, within one patience for all together. The caller drops those
/// that ended or were replaced. P is a Provider.
///
/// Returns 0, or an errno if providers are missing because this process lacked a descriptor or
/// memory for them.
template <class P>
int look_around(RunDirectory& directory, std::map<std::string, P>& providers) {
    const auto names = directory.sockets();
    int shortage = names ? 0 : names.error().value();
    if (names) {
        for (const std::string& name : *names) {
            providers.try_emplace(name, directory.directory(), name);
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

}  // namespace blkscope::kstat
