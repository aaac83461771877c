// The disks and partitions of the kernel's block layer. linux:U:NAME is an IO kstat as iostat shows
// it. linux:U:NAME,linux has the counters of Linux without a place in a kstat_io_t.
//
//     vda        linux:0:vda      disk         nbd0       linux:0:knbd0    disk
//     vda1       linux:0:vda,1    partition    nvme0n1p2  linux:0:nvme0n1,2
//
// The kernel's nbdN is called knbdN: the nbdN of iostat and kstat are the devices that blkscope
// serves.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kstat/host/data.hpp"
#include "kstat/host/disk_counters.hpp"
#include "kstat/host/files.hpp"

namespace blkscope::kstat::host {

class Disks {
  public:
    explicit Disks(Files& files) : files_(files) {}

    void list(std::vector<Entry>& entries);

  private:
    struct Device {
        std::string kstat_name;
        std::string whole_disk;  // its name in Linux
        bool is_partition;
    };
    struct Memory {
        hrtime_t crtime = 0;
        std::string sequence;  // the kernel's number of the disk, never used again
    };

    struct History {
        DiskHistory counters;
        uint64_t restarts = 0;
    };

    Device place(const DiskLine& line, const std::string& last_disk) const;
    bool is_shown(const Device& device, const DiskLine& line) const;
    Memory& remember(const Device& device, const DiskLine& line);
    void add(std::vector<Entry>& entries, const Device& device, const DiskLine& line);
    std::string identity(const Device& device, const DiskLine& line) const;
    std::vector<DiskLine> look();
    std::optional<Data> read_io(const DiskLine& line);
    std::optional<Data> read_details(const DiskLine& line);
    const std::vector<DiskLine>& lines();
    const DiskLine* find(const std::string& name);

    Files& files_;
    Fresh<std::vector<DiskLine>> lines_;
    std::map<std::string, Memory> memories_;
    std::map<std::string, History> histories_;
    std::set<std::string> present_;  // at the last look
    hrtime_t last_look_ = 0;         // 0: no look yet
};

}  // namespace blkscope::kstat::host
