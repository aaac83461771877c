// The names and numbers in use by this process's entries.
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

    /// `name` if it is free for the instance and fits, else another free name. The caller gives it
    /// back.
    std::string take(int instance, const std::string& name);
    void give_back(int instance, const std::string& name);

    /// Numbers from 0; none is used again.
    uint32_t next_number();

  private:
    std::mutex mutex_;
    std::set<std::pair<int, std::string>> taken_;
    uint32_t numbers_ = 0;
    unsigned doubles_ = 0;
};

}  // namespace blkscope::devstat
