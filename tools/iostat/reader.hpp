// Where the figures come from: the kstats that are published, read through libkstat alone.
#pragma once

#include <string>
#include <vector>

#include "tools/iostat/processors.hpp"
#include "tools/iostat/snapshot.hpp"
#include "tools/program/kstats.hpp"

namespace blkscope::iostat {

/// A handle on the chain of kstats, opened at the first read, and again as long as there is no run
/// directory to open.
///
/// Threads: one.
class Reader {
  public:
    explicit Reader(const Options& options) : options_(options) {}

    /// Brings the chain up to date and reads the I/O kstat of every device the options want. One
    /// that cannot be read, because its provider went away meanwhile, is left out. The options also
    /// say whether its error kstat is read, and what this machine knows of it.
    ///
    /// Errors: throws std::system_error if the chain cannot be had.
    [[nodiscard]] std::vector<Device> read();

    /// Reads the processors that are on line, of the chain as the last read() left it. Those of
    /// which no cpu:N:sys can be read are left out; one without a cpu_info:N counts as on line.
    [[nodiscard]] Processors read_processors();

    /// Whether the last read found any device, wanted or not.
    [[nodiscard]] bool any_device() const;

    /// The chain as the last read() left it, for what else is published beside the devices; null
    /// if there was none.
    [[nodiscard]] kstat_ctl_t* chain() const { return kc_.get(); }

  private:
    bool refresh();
    void read_errors(std::vector<Device>& devices);
    void ask_host(std::vector<Device>& devices) const;
    [[nodiscard]] bool is_on_line(int processor);

    Options options_;
    program::Chain kc_;
};

/// The directory that libkstat looks into, for messages.
[[nodiscard]] std::string run_directory();

/// What to tell a user where there are no devices of these names; without names, none at all.
[[nodiscard]] std::string no_devices_text(const std::vector<std::string>& names = {});

}  // namespace blkscope::iostat
