// Export: a device under the name that clients ask for, and what the server publishes of it.
//
// Published (instance N):
//     nbd:N:nbdN,export    NAMED, class misc: the strings name, backing and uri
//     nbd:N:nbdN,geometry  RAW, class misc: sizes and limits as negotiated, <blkscope/geometry.h>
//
// Threads: immutable once served, but for the device, which is its worker's.
#pragma once

#include <sys/kstat.h>

#include <cstdint>
#include <string>

#include "blockdev/device.hpp"
#include "driver/nbd/handshake.hpp"
#include "driver/nbd/server.hpp"

namespace blkscope::nbd {

class Worker;

struct Export {
    Export(Worker& its_worker, ExportOptions options);
    Export(const Export&) = delete;
    Export& operator=(const Export&) = delete;

    /// What a client is told when it asks for it.
    [[nodiscard]] ExportInfo info() const;

    /// Makes the export known to `blkscope list` and other readers.
    void publish(const std::string& its_uri);

    Worker& worker;
    std::string name;
    bool read_only;
    Device device;

  private:
    OwnedKstat create_kstat(const char* what, uchar_t type, uint_t records) const;
    void publish_names();
    void publish_geometry();

    std::string description_;
    std::string backing_;
    std::string uri_;
    OwnedKstat kstat_;
    OwnedKstat geometry_kstat_;
};

}  // namespace blkscope::nbd
