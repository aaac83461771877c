#include "kstat/reader/silent_sockets.hpp"

#include <map>
#include <utility>

#include "kstat/reader/provider.hpp"
#include "kstat/reader/run_directory.hpp"

namespace blkscope::kstat {

namespace {

// The reader library has warned already.
struct QuietProvider : Provider {
    QuietProvider(const Directory& directory, std::string name)
        : Provider(directory, std::move(name)) {
        is_quiet_ = true;
    }

    [[nodiscard]] bool is_silent() const { return silent_; }
};

}  // namespace

std::vector<std::string> silent_sockets() {
    RunDirectories directories;
    std::map<std::string, QuietProvider> providers;
    static_cast<void>(directories.reopen());  // a directory that is missing has no provider
    static_cast<void>(look_around(directories, providers));
    std::vector<std::string> silent;
    for (const auto& [path, provider] : providers) {
        if (provider.is_silent()) silent.push_back(path);
    }
    return silent;
}

}  // namespace blkscope::kstat
