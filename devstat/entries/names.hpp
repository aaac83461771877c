// What this process has given away: the names of its entries' kstats, and their numbers.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace blkscope::devstat {

/// Threads: any.
class Names {
  public:
    static Names& of_this_process();

    /// `name` if that is free for the instance and fits, else another that is. To be given back.
    std::string take(int instance, const std::string& name);
    void give_back(int instance, const std::string& name);

    /// From 0, never the same again.
    uint32_t next_number();

  private:
    std::mutex mutex_;
    std::set<std::pair<int, std::string>> taken_;
    uint32_t numbers_ = 0;
    unsigned doubles_ = 0;
};

}  // namespace blkscope::devstat
