// A provider, with the reader's numbers of its kstats.
#pragma once

#include <map>
#include <vector>

#include "kstat/reader/provider.hpp"

namespace blkscope::kstat {

class ListedProvider : public Provider {
  public:
    using Provider::Provider;

    /// The headers of all its kstats. `kids` is unchanged.
    ///
    /// Errors: of exchange(), the provider's own, and EPROTO after an invalid reply.
    Result<std::vector<kstat_t>> list();

    /// The provider's number of a kstat -> the reader's.
    std::map<kid_t, kid_t> kids;
};

}  // namespace blkscope::kstat
