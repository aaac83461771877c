#include "devstat/entries/names.hpp"

#include <sys/kstat.h>

namespace blkscope::devstat {

Names& Names::of_this_process() {
    static Names& names = *new Names;  // never destroyed: entries may outlive main
    return names;
}

std::string Names::take(int instance, const std::string& name) {
    const std::lock_guard lock(mutex_);
    std::string wanted = name;
    while (wanted.size() >= KSTAT_STRLEN || !taken_.emplace(instance, wanted).second) {
        // Short enough for any number, which has 11 characters at most.
        constexpr size_t kept = KSTAT_STRLEN - 1 - 1 - 11;
        wanted = name.substr(0, kept) + "," + std::to_string(++doubles_);
    }
    return wanted;
}

void Names::give_back(int instance, const std::string& name) {
    const std::lock_guard lock(mutex_);
    taken_.erase({instance, name});
}

uint32_t Names::next_number() {
    const std::lock_guard lock(mutex_);
    return numbers_++;
}

}  // namespace blkscope::devstat
