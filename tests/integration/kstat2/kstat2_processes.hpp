// A reader of kstat2s, and the kstat2s that providers in other processes publish for it.
#pragma once

#include <kstat2.h>
#include <sys/kstat2.h>

#include <string>
#include <vector>

#include "child_process.hpp"

namespace blkscope {

/// A temporary run directory, and a handle on it.
class Kstat2Processes : public KstatProcesses {
  protected:
    ~Kstat2Processes() override;

    /// Opens and updates. With a pattern: only what that shell pattern selects.
    void open2(const char* glob = nullptr);
    void update() { ASSERT_EQ(kstat2_update(handle), KSTAT2_S_OK); }

    /// Null: there is none.
    kstat2_map_t map(const std::string& uri) const;
    kstat2_nv_t nv(const std::string& uri, const char* name) const;
    /// The value of an integer; throws if there is none.
    uint64_t integer(const std::string& uri, const char* name) const;
    /// The names of these kinds, as an iterator gives them.
    std::vector<std::string> names(const std::string& uri, uint32_t kinds = KSTAT2_NVK_ALL) const;

    kstat2_handle_t handle = nullptr;
};

using Path = std::vector<const char*>;

/// In a provider: one integer, "count", that is installed.
kstat2_t* publish_count(Path path, uint64_t count, uint32_t flags = 0,
                        kstat2_metaflag_t mflags = KSTAT2_MF_NONE);

/// A provider of one such kstat until it receives a byte.
std::function<void(const Line&)> provide_count(Path path, uint64_t count);

}  // namespace blkscope
