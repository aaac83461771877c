// The source of the tree's values.
#pragma once

#include <optional>
#include <string>

#include "kstat/wire/model.hpp"

namespace blkscope::kstat2::reader {

struct Listed;

/// An object that can read kstats.
class Source {
  public:
    virtual ~Source() = default;

    /// All values of a kstat, one of the right type for each of its fields. Nothing: the kstat was
    /// removed, or there was no answer in time.
    virtual std::optional<Values> read(const Listed& listed) = 0;
};

/// A kstat of a source. Two of these objects are two kstats, even if they have the same path.
struct Listed {
    Source* source;  // outlives this object
    std::string uri;
    Map map;
};

}  // namespace blkscope::kstat2::reader
