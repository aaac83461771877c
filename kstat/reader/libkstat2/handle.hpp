// The object of kstat2_open: the providers, and the tree of their kstats.
//
// Threads: the tree's lock, held by the caller.
#pragma once

#include <kstat2.h>

#include <map>
#include <string>

#include "kstat/reader/libkstat2/matchers.hpp"
#include "kstat/reader/libkstat2/remote.hpp"
#include "kstat/reader/libkstat2/tree.hpp"
#include "kstat/reader/run_directory.hpp"

struct kstat2_handle {};

namespace blkscope::kstat2::reader {

class Handle : public kstat2_handle {
  public:
    /// The tree without values. Throws std::system_error if the run directory, which may be
    /// missing, cannot be opened.
    explicit Handle(Matchers matchers);

    /// The same errors; after an error the tree is unchanged.
    void update();

    [[nodiscard]] Tree& tree() { return tree_; }

    /// The optional statistics of all providers, by name, each name once.
    std::map<std::string, Optional> optionals();
    /// Returns an errno; ENOENT: no provider has these statistics.
    int set_optional(const std::string& name, wire::Switch wanted);

  private:
    void follow_providers();
    Listing listing();

    Matchers matchers_;
    kstat::RunDirectories directories_;
    bool is_stale_ = false;  // the tree lacks kstats of the providers' lists
    std::map<std::string, Remote> providers_;
    Tree tree_;  // destroyed before the providers, which are its sources
};

}  // namespace blkscope::kstat2::reader
