// A provider, and which of the reader's kstats are its own.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "kstat/reader/provider.hpp"

namespace blkscope::kstat {

class ListedProvider : public Provider {
  public:
    using Provider::Provider;

    /// The headers of all its kstats. Nothing: it fell silent or sent nonsense, and `kids` stand.
    std::optional<std::vector<kstat_t>> list();

    /// The provider's number of a kstat -> the reader's.
    std::map<kid_t, kid_t> kids;
};

}  // namespace blkscope::kstat
