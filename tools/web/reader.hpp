// Reads looks through libkstat and libkstat2, as iostat does.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/iostat/histogram_reader.hpp"
#include "tools/iostat/reader.hpp"
#include "tools/program/kstat_index.hpp"
#include "tools/web/look.hpp"

namespace blkscope::web {

/// Threads: one.
class Reader {
  public:
    Reader();

    /// Reads all devices, partitions and clients. Values that cannot be read are left out, because
    /// a provider may be removed at any time.
    ///
    /// Errors: throws std::runtime_error if no kstats can be read. The next look may succeed.
    ///
    /// A look has the histograms of reads and writes, and of each other operation that was done. If
    /// `all_histograms`, the look has all.
    [[nodiscard]] Look look(bool all_histograms);

    /// The names of kstats that are there and could not be read, in the last look.
    [[nodiscard]] const std::set<std::string>& unread() const { return unread_; }

    /// Whether the last look lacked providers, because there was no descriptor for them.
    [[nodiscard]] bool is_partial() const { return devices_.is_partial(); }

  private:
    struct Identity {
        std::string program;
        std::string peer;
    };

    [[nodiscard]] std::optional<top::Source> source_of(const iostat::Device& device);
    [[nodiscard]] const Identity& identity_of(const iostat::Device& device);
    void forget_others(const std::vector<DeviceLook>& looks);
    void read_beside(DeviceLook& look);
    void read_histograms(std::vector<DeviceLook>& looks, bool all);
    [[nodiscard]] kstat_t* read_beside(const iostat::Device& device, const char* what);
    [[nodiscard]] std::vector<ProviderLook> read_providers(const std::vector<DeviceLook>& looks);

    iostat::Reader devices_;
    program::KstatIndex index_;
    std::map<kid_t, Identity> identities_;  // of the clients
    std::map<kid_t, top::Source> sources_;  // of the disks
    iostat::HistogramReader histograms_;
    std::set<std::string> unread_;
};

}  // namespace blkscope::web
