// HistogramKstats: a device's histograms as kstats, which readers of the machine see.
//
//     kstat:/disk/nbd/nbd0/0/read_wait      from strategy() to start()
//                           /read_service   from start() to done()
//                           /read_total     from strategy() to done()
//                           /read_size      bytes asked
//                           ...             the same of write, trim and write_zeroes; of flush, the
//                                           first three
//                           /latency        read_total and write_total in one, by powers of two
//                           /depth          reads and writes in the device when one arrives
//                           /times          the sums of wait and service of each operation
//
// The histograms cost some time per request, so a user can switch them off. The switch is the
// optional statistic `blk:hist` of a process, for all its devices. Switched on again, they count
// from 0.
//
// Units:     nanoseconds, bytes, requests, as the kstats' metadata say.
// Ownership: HistogramKstats owns the kstats and borrows the histograms, whose arrays they show.
// Threads:   any one thread at a time constructs and destroys a device's. The control
//            thread switches statistics.
// Errors:    a kstat that cannot be created is missing, and kstat2_create() has reported why.
//            Requests are served as usual.
// Source:    kstat2_create_histogram(9F), kstat2_register_optional(9F).
#pragma once

#include <sys/kstat2.h>

#include <span>
#include <string>
#include <vector>

#include "blockdev/accounting/owned_kstat.hpp"
#include "blockdev/accounting/request_histograms.hpp"

namespace blkscope {

class HistogramKstats {
  public:
    /// For the device `name`. The kstats are published at once if the process has switched them on.
    HistogramKstats(RequestHistograms& histograms, const std::string& name, int instance);
    ~HistogramKstats();
    HistogramKstats& operator=(HistogramKstats&&) = delete;

  private:
    friend class HistogramSwitch;

    void publish();
    void withdraw();
    void publish_operation(size_t index);
    void publish_latencies(const std::string& what, RequestHistograms::Latencies& counts,
                           const char* desc);
    void publish_histogram(const std::string& what, const kstat2::Buckets& shape,
                           kstat2_nv_metatype_t content, std::span<uint64_t> counts,
                           const char* desc);
    void publish_times();
    static int update_times(kstat2_t* ksp, int rw);
    void keep(OwnedKstat2 kstat);

    RequestHistograms& histograms_;
    std::string name_;
    std::string instance_;
    std::vector<OwnedKstat2> kstats_;
};

}  // namespace blkscope
