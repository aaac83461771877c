// Where the statistics come from: libkstat2 alone.
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

/// A pattern that the library refuses; what() says which.
struct BadPattern : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The library failed; what() says what we did, and why it did not work.
struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Keeps a handle of the library, with what it is to see.
class Handle {
  public:
    /// Selects nothing yet, which is everything. Throws Failure.
    Handle();

    /// Throws BadPattern.
    void select(kstat2_match_type_t type, const std::string& pattern);

    /// The whole tree as it is now. Throws Failure.
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

    /// Everything that is selected, by URI; of a kstat that only operands with a statistic select,
    /// no more than those. Throws Failure.
    [[nodiscard]] std::vector<Reading> read();

  private:
    using Readings = std::map<std::string, Reading>;

    static void collect(kstat2_map_t map, Readings& readings);
    void keep_selected(Readings& parts) const;

    // Two, because the one must not show all of what the other shows a part of.
    std::optional<Handle> wholes_;
    std::optional<Handle> parts_;
    std::vector<Operand> operands_;  // those with a statistic
};

}  // namespace blkscope::kstat2_command
