// The devices of the last interval in FreeBSD's style, as libdevstat selects them.
#pragma once

#include <devstat.h>

#include <string>
#include <vector>

#include "tools/iostat/freebsd/options.hpp"
#include "tools/iostat/freebsd/report.hpp"

namespace blkscope::iostat::freebsd {

/// Threads: one. Errors: std::runtime_error, with libdevstat's message.
class Devices {
  public:
    /// Refuses a match that is invalid for libdevstat.
    explicit Devices(const Options& options);
    ~Devices();
    Devices& operator=(Devices&&) = delete;

    /// Reads all devices and selects. True if the shown devices or their positions have changed.
    bool look();

    /// The shown devices, over the time since the look before the last; without that look, since
    /// their creation.
    [[nodiscard]] std::vector<Shown> shown() const;

    /// The drives that were named and are not there. A drive without a place in the report is there.
    [[nodiscard]] std::vector<std::string> missing() const;

    [[nodiscard]] bool none_at_all() const { return now_.info.numdevs == 0; }

  private:
    struct Look {
        Look() { stats.dinfo = &info; }
        statinfo stats{};
        devinfo info{};
    };

    bool select();
    void count_bytes();
    [[nodiscard]] const Devstat* earlier(uint32_t device_number) const;

    const Options& options_;
    std::vector<std::string> names_;
    std::vector<char*> drives_;  // pointers into names_
    devstat_match* matches_ = nullptr;
    int num_matches_ = 0;
    Look now_;
    Look before_;
    device_selection* selection_ = nullptr;
    int selected_ = 0;
    int selections_ = 0;
    long generation_ = 0;
};

}  // namespace blkscope::iostat::freebsd
