// Reads the published kstats of devices and processors, through libkstat alone.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/iostat/processors.hpp"
#include "tools/iostat/snapshot.hpp"
#include "tools/program/kstats.hpp"

namespace blkscope::iostat {

/// The options of a Reader that reads all of each device: its partitions, clients and errors.
[[nodiscard]] Options all_of_devices();

/// A handle on the chain of kstats, opened at the first read. If there is no run directory, each
/// read tries again.
///
/// Threads: one.
class Reader {
  public:
    explicit Reader(const Options& options) : options_(options) {}

    /// Brings the chain up to date and reads the I/O kstat of every device that the options ask
    /// for. A device that cannot be read is omitted, because its provider was removed meanwhile.
    /// The options also decide whether to read its error kstat and this machine's facts about it.
    ///
    /// Errors: throws std::system_error if the chain cannot be opened or updated.
    [[nodiscard]] std::vector<Device> read();

    /// Reads the processors that are on line, from the chain of the last read(). A processor whose
    /// cpu:N:sys cannot be read is omitted. A processor without cpu_info:N counts as on line.
    [[nodiscard]] Processors read_processors();

    /// Whether the last read found any device, even one that the options exclude.
    [[nodiscard]] bool any_device() const;

    /// Whether the last read found a program that publishes anything.
    [[nodiscard]] bool any_provider() const;

    /// Whether the last read() lacked providers, because there was no descriptor for them.
    [[nodiscard]] bool is_partial() const { return is_partial_; }

    /// The names of devices that are there and could not be read, in the last read().
    [[nodiscard]] const std::set<std::string>& unread() const { return unread_; }

    /// The chain of the last read(), for kstats besides those of devices; null if there was none.
    [[nodiscard]] kstat_ctl_t* chain() const { return kc_.get(); }

  private:
    bool refresh();
    [[nodiscard]] std::optional<Device> read_device(kstat_t* ksp, Kind kind);
    void read_errors(std::vector<Device>& devices);
    void ask_host(std::vector<Device>& devices) const;
    [[nodiscard]] bool is_on_line(int processor);

    Options options_;
    program::Chain kc_;
    bool is_partial_ = false;
    std::set<std::string> unread_;
};

/// Reads the kstat nbd:0:nbd0,`what` of a device nbd:0:nbd0. Null if it cannot be read, because a
/// kstat may be removed at any time.
[[nodiscard]] kstat_t* read_beside(kstat_ctl_t* chain, const Device& device,
                                   const std::string& what);

/// The program and the peer of a client, as text. `info` is its info kstat, which was read.
[[nodiscard]] std::string client_text(kstat_t* info);

/// The directory that libkstat reads, for messages.
[[nodiscard]] std::string run_directory();

/// The message if there are no devices of these names; without names, if there is no device.
[[nodiscard]] std::string no_devices_text(const std::vector<std::string>& names = {});

}  // namespace blkscope::iostat
