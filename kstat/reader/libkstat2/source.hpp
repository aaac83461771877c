// The source of the tree's values.
#pragma once

#include <string>

#include "base/result.hpp"
#include "kstat/wire/model.hpp"

namespace blkscope::kstat2::reader {

struct Listed;

/// An object that can read kstats.
class Source {
  public:
    virtual ~Source() = default;

    /// All values of a kstat, one of the right type for each of its fields.
    ///
    /// Errors: ENXIO if the kstat was removed, ETIMEDOUT if there was no answer in time, EPROTO after
    ///         an invalid one.
    virtual Result<Values> read(const Listed& listed) = 0;
};

/// A kstat of a source. Two of these objects are two kstats, even if they have the same path.
struct Listed {
    Source* source;  // outlives this object
    std::string uri;
    Map map;
};

}  // namespace blkscope::kstat2::reader
