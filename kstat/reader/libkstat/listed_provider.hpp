// A provider, with the reader's numbers of its kstats.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "kstat/reader/provider.hpp"

namespace blkscope::kstat {

class ListedProvider : public Provider {
  public:
    using Provider::Provider;

    /// The headers of all its kstats. Empty if the provider timed out or sent an invalid reply;
    /// `kids` is unchanged.
    std::optional<std::vector<kstat_t>> list();

    /// The provider's number of a kstat -> the reader's.
    std::map<kid_t, kid_t> kids;
};

}  // namespace blkscope::kstat
