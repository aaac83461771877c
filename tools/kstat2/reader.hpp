// Reads the statistics, through libkstat2 alone.
#pragma once

#include <kstat2.h>

#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/kstat2/options.hpp"
#include "tools/kstat2/statistic.hpp"

namespace blkscope::kstat2_command {

/// A pattern that the library refuses; what() names the pattern.
struct BadPattern : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A failure of the library; what() names the action and the reason.
struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Owns a handle of the library, and what the handle selects.
class Handle {
  public:
    /// Selects nothing yet; the handle then shows the whole tree. Throws Failure.
    Handle();

    /// Throws BadPattern.
    void select(kstat2_match_type_t type, const std::string& pattern);

    /// The whole selected tree at present. Throws Failure.
    kstat2_map_t update();

  private:
    struct Free {
        void operator()(kstat2_matcher_list_t list) const { kstat2_free_matcher_list(&list); }
    };
    struct Close {
        void operator()(kstat2_handle_t handle) const { kstat2_close(&handle); }
    };

    std::unique_ptr<struct kstat2_matcher_list, Free> matchers_;
    std::unique_ptr<struct kstat2_handle, Close> handle_;
};

/// Threads: one.
class Reader {
  public:
    /// Throws BadPattern and Failure.
    explicit Reader(const Options& options);

    /// All selected kstats, in the order of their URIs. If only operands with a statistic select a
    /// kstat, the kstat has only these statistics. Throws Failure.
    [[nodiscard]] std::vector<Reading> read();

  private:
    using Readings = std::map<std::string, Reading>;

    static void collect(kstat2_map_t map, Readings& readings);
    void keep_selected(Readings& parts) const;

    // Two handles, because `parts_` must not limit the kstats that `wholes_` shows in full.
    std::optional<Handle> wholes_;
    std::optional<Handle> parts_;
    std::vector<Operand> operands_;  // the operands with a statistic
};

}  // namespace blkscope::kstat2_command
