// FaultsKstat: the kstat of a device's fault rules, as long as the device has rules.
//
// Published: nbd:N:nbdN,faults, NAMED of class misc:
//     abandoned         requests that hung when their client had closed its connection
//     rule_K, hits_K    the text of rule K, and the requests that it has struck
//
// Units:     requests.
// Ownership: owns the kstat; borrows the rules, which do not change while it exists.
// Threads:   any one thread constructs and destroys it. Readers observe each number by itself.
// Errors:    a kstat that cannot be created is missing, and kstat_create() has reported why.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "blockdev/accounting/owned_kstat.hpp"
#include "blockdev/model/fault_rules.hpp"

namespace blkscope {

class FaultsKstat {
  public:
    FaultsKstat(const Subject& subject, const std::vector<model::FaultRules::Entry>& rules,
                const uint64_t& abandoned);
    FaultsKstat& operator=(FaultsKstat&&) = delete;

  private:
    static int update(kstat_t* ksp, int rw);

    const std::vector<model::FaultRules::Entry>& rules_;
    const uint64_t& abandoned_;
    std::vector<std::string> texts_;
    OwnedKstat kstat_;  // last: destroyed before the data that readers use
};

}  // namespace blkscope
