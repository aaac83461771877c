// The looks of a run. The first and the last are whole, and the others have what a chart needs.
//
//     look       1  2  3  4  5  6  7  8 ...           1  .  3  .  5  .  7  .
//                └──────── every ───────┘   looks_max └─ every second one is dropped, and from then
//                                                        on the looks are twice as far apart
//
// Counters only grow, so a look that is dropped takes nothing from the others.
//
// A disk is "nbd0@4711" while another provider has an nbd0, too. Providers come and go within a run, so
// a disk keeps the name that it had first.
//
// Units:     the time between two looks in milliseconds.
// Ownership: owns the looks.
// Threads:   one.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/iostat/snapshot.hpp"
#include "tools/iostat/summary.hpp"
#include "tools/web/look.hpp"

namespace blkscope::report {

inline constexpr size_t looks_max = 1200;
inline constexpr size_t looks_min = 120;            // kept, however many devices there are
inline constexpr size_t device_looks_max = 12'000;  // of all devices together

struct Recording {
    explicit Recording(std::chrono::milliseconds interval) : every(interval) {}

    /// Adds a look. The last one has all histograms, as the first one.
    void add(web::Look look);

    /// The devices of the last look, and those that have left, as they were seen last.
    [[nodiscard]] std::vector<web::DeviceLook> devices_at_end() const;

    web::Look first;
    web::Look last;
    std::map<std::string, web::DeviceLook> left;   // devices that are not in `last`, as last seen
    std::map<std::string, web::DeviceLook> ended;  // the first lives of devices that were made anew
    std::vector<iostat::Snapshot> looks;           // disks and clients, with few histograms
    iostat::Summary summary;                       // of all looks, also of the dropped ones
    std::chrono::milliseconds every;
    std::map<std::string, web::DeviceLook> clients;  // also those that have closed; no histograms

  private:
    void keep_names(web::Look& look);
    void note_life(const web::DeviceLook& now);

    // Of disks, by provider and own name.
    std::map<std::pair<int, std::string>, std::string> names_;
};

}  // namespace blkscope::report
