// HistogramKstats: a device's histograms, as kstats that readers of the machine see.
//
//     kstat:/disk/nbd/nbd0/0/read_wait      from strategy() to start()
//                           /read_service   from start() to done()
//                           /read_total     from strategy() to done()
//                           /read_size      bytes asked
//                           ...             the same of write, trim and write_zeroes; of flush, the
//                                           first three
//                           /latency        read_total and write_total in one, by powers of two
//                           /depth          reads and writes that a read or write met
//                           /times          sums of what is in the first two of each operation
//
// They cost a little for every request, so they can be had without: the statistics `blk:hist` of a
// process are those of all its devices, which come and go together when somebody says so. What has
// come back counts from 0.
//
// Ownership: HistogramKstats owns the kstats and borrows the histograms, whose arrays they show.
// Threads:   a device's may be made and destroyed on any thread, one at a time; statistics are
//            switched on the thread that serves readers.
// Errors:    a kstat that cannot be created is missing, and kstat2_create() has said why; the
//            requests are served all the same.
// Source:    kstat2_create_histogram(9F), kstat2_register_optional(9F).
#pragma once

#include <sys/kstat2.h>

#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "blockdev/accounting/io_kstat.hpp"
#include "blockdev/accounting/request_histograms.hpp"

namespace blkscope {

class HistogramKstats {
  public:
    /// Of the device `name`: published from here on if the process has them switched on.
    HistogramKstats(RequestHistograms& histograms, const std::string& name, int instance);
    ~HistogramKstats();
    HistogramKstats(const HistogramKstats&) = delete;
    HistogramKstats& operator=(const HistogramKstats&) = delete;

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

/// The one switch of a process for the histograms of all its devices, known as blk:hist.
class HistogramSwitch {
  public:
    static HistogramSwitch& of_this_process();

    /// How they are from here on until somebody switches, and what that somebody can call the
    /// default. On, before the first call.
    void set_default(bool on);
    [[nodiscard]] bool on() const;

  private:
    friend class HistogramKstats;

    HistogramSwitch();
    void apply(bool on);
    void add(HistogramKstats& device);
    void remove(HistogramKstats& device);
    static int switched(kstat2_opt_id_t id, int enable, void* self);

    kstat2_opt_id_t id_;
    mutable std::mutex mutex_;
    bool on_ = false;
    std::vector<HistogramKstats*> devices_;
};

}  // namespace blkscope
