// Export: a device under the name that clients ask for, and what the server publishes of it.
//
// Published (instance N):
//     nbd:N:nbdN,export    NAMED, class misc: the strings name, backing and uri
//     nbd:N:nbdN,geometry  RAW, class misc: sizes and limits as negotiated, <blkscope/geometry.h>
//
// It belongs to one worker; others may serve clients of it, too, as its visitors.
//
// Threads: made and destroyed on its worker's thread while that has one, and destroyed when there
//          are no visitors any more. Immutable in between, but for what is published, which is the
//          control thread's, the device, and the number of visitors, which is any thread's.
#pragma once

#include <sys/kstat.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "blockdev/accounting/owned_kstat.hpp"
#include "blockdev/device/device.hpp"
#include "driver/nbd/handshake/handshake.hpp"
#include "driver/nbd/server/export_options.hpp"

namespace blkscope::nbd {

class Worker;

struct Export {
    Export(Worker& its_worker, ExportOptions options);
    Export(const Export&) = delete;
    Export& operator=(const Export&) = delete;

    /// What a client is told when it asks for it.
    [[nodiscard]] ExportInfo info() const;

    /// Makes the export known to `blkscope list` and other readers; again, under another URI.
    void publish(const std::string& its_uri);

    /// Where clients are told that it is, once published.
    [[nodiscard]] const std::string& uri() const { return uri_; }
    [[nodiscard]] bool published() const { return published_; }

    Worker& worker;
    uint64_t serial = 0;  // of no other export of this server, gone ones included
    std::string name;
    std::string description;
    bool read_only;
    bool is_default;
    std::atomic<unsigned> visitors{0};  // clients that other workers have, or are about to get
    Device device;

  private:
    OwnedKstat create_kstat(const char* what, uchar_t type, uint_t records) const;
    void publish_names();
    void publish_geometry();

    std::string backing_;
    std::string uri_;
    bool published_ = false;
    OwnedKstat kstat_;
    OwnedKstat geometry_kstat_;
};

}  // namespace blkscope::nbd
