// The run directory, for a reader. Each look opens the directory again, so that a directory created
// or replaced later is found.
//
// Threads: one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kstat/reader/provider.hpp"
#include "kstat/reader/provider_connection.hpp"

namespace blkscope::kstat {

class RunDirectory {
  public:
    /// Opens the directory of that path now. Returns an errno; no directory is open then.
    int reopen();

    /// The names of the sockets in it.
    [[nodiscard]] std::vector<std::string> sockets() const;

    [[nodiscard]] const Directory& directory() const { return directory_; }

  private:
    Directory directory_;
};

/// Brings `providers`, by the names of their sockets, up to date. The function finds new providers,
/// asks all, and takes their answers, within one patience for all together. The caller drops those
/// that ended or were replaced. P is a Provider.
template <class P>
void look_around(RunDirectory& directory, std::map<std::string, P>& providers) {
    for (const std::string& name : directory.sockets()) {
        providers.try_emplace(name, directory.directory(), name);
    }
    const Deadline deadline = soon();
    for (auto& [name, provider] : providers) provider.ask(deadline);
    for (auto& [name, provider] : providers) provider.hear(deadline);
}

}  // namespace blkscope::kstat
