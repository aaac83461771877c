// Where the tree's values come from.
#pragma once

#include <optional>
#include <string>

#include "kstat/wire/model.hpp"

namespace blkscope::kstat2::reader {

struct Listed;

/// Whoever can read kstats.
class Source {
  public:
    virtual ~Source() = default;

    /// All values of a kstat, one for each of its fields and of its type. Nothing: it is gone, or
    /// nobody answers within bounds.
    virtual std::optional<Values> read(const Listed& listed) = 0;
};

/// A kstat that a source has. It is another kstat if it is another one of these, though it may have
/// the same path.
struct Listed {
    Source* source;  // outlives it
    std::string uri;
    Map map;
};

}  // namespace blkscope::kstat2::reader
