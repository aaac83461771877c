// Export: a device under the name that clients ask for, and the kstats that the server publishes.
//
// Published (instance N):
//     nbd:N:nbdN,export    NAMED, class misc: the strings name, backing and uri; pid, an int32;
//                          crash_cache, a string, only with a crash cache
//     nbd:N:nbdN,geometry  RAW, class misc: sizes and limits as negotiated, <blkscope/geometry.h>
//
// An export belongs to one worker. Other workers may serve clients of it, called visitors.
//
// Threads: made and destroyed on its worker's thread while there is one, destroyed without
//          visitors. The published data belongs to the control thread. The device and the visitor
//          count are for any thread; the rest is immutable.
#pragma once

#include <sys/kstat.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "blockdev/accounting/owned_kstat.hpp"
#include "blockdev/device/device.hpp"
#include "driver/nbd/handshake/handshake.hpp"
#include "driver/nbd/server/export_options.hpp"

namespace blkscope::nbd {

class Worker;

struct Export {
    Export(Worker& its_worker, ExportOptions options);
    ~Export();
    Export& operator=(Export&&) = delete;

    /// The information that a client gets in the handshake.
    [[nodiscard]] ExportInfo info() const;

    /// Publishes the export for `blkscope list` and other readers. May be called again with another
    /// URI.
    void publish(const std::string& its_uri);

    /// The published URI; empty before publish().
    [[nodiscard]] const std::string& uri() const { return uri_; }
    [[nodiscard]] bool published() const { return published_; }

    Worker& worker;
    uint64_t serial = 0;  // unique in this server, closed exports included
    std::string name;
    std::string description;
    bool read_only;
    bool is_default;
    std::atomic<unsigned> visitors{0};  // clients that other workers have or will get
    const std::shared_ptr<VolatileCache> crash_cache;  // null for none
    Device device;

  private:
    OwnedKstat create_kstat(const char* what, uchar_t type, uint_t records) const;
    void publish_names();
    void publish_geometry();
    static int update_geometry(kstat_t* ksp, int rw);

    std::string backing_;
    std::string uri_;
    std::string crash_cache_text_;
    bool published_ = false;
    OwnedKstat kstat_;
    OwnedKstat geometry_kstat_;
};

}  // namespace blkscope::nbd
