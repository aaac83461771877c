// ModelKstat: the kstats of a device's model, as long as the device has that model.
//
// Published: nbd:N:nbdN,model, NAMED of class misc:
//     spec                  the model's text, which is the same model if it is parsed again
//     seed                  of its draws
//     servers               requests that make progress at once
//     drawn                 requests that took a server
//     overruns, overrun_ns  requests for which the backing was slower than the draw; what it took
//                           longer, of all together
//     late_ns               how late the worker ended the requests, all together
// and kstat:/disk/nbd/nbdN/N/model_lateness, a histogram of the lateness of each.
//
// Units:     nanoseconds and requests.
// Ownership: owns the kstats; borrows the counts.
// Threads:   any one thread constructs and destroys it. Readers observe each number by itself.
// Errors:    a kstat that cannot be created is missing, and kstat_create() has reported why.
#pragma once

#include <string>

#include "blockdev/accounting/model_counts.hpp"
#include "blockdev/accounting/owned_kstat.hpp"

namespace blkscope {

class ModelKstat {
  public:
    ModelKstat(const Subject& subject, std::string spec, ModelCounts& counts);
    ModelKstat& operator=(ModelKstat&&) = delete;

  private:
    void publish_counts(const Subject& subject);
    void publish_lateness(const Subject& subject);
    static int update(kstat_t* ksp, int rw);

    const std::string spec_;
    ModelCounts& counts_;
    OwnedKstat2 lateness_;
    OwnedKstat kstat_;  // last: destroyed before the data that readers use
};

}  // namespace blkscope
