// Ssd: the times of a disk whose channels work side by side, each on a share of the addresses.
//
//     address   | 4 KiB | 4 KiB | 4 KiB | 4 KiB | 4 KiB | ...
//     channel       0       1       2       0       1            of 3
//
// Each channel serves one stripe at a time, first come, first served. A stripe takes READ or
// PROGRAM, and so does a part of one. A request ends with its last stripe. When GC_EVERY bytes have been
// written to a channel, the channel pauses for GC_PAUSE behind the write. GC_EVERY 0 is no pause.
//
// Units:     bytes; the ticks of the caller's clock.
// Ownership: borrows the servers, one for each channel.
// Threads:   one at a time.
// Errors:    parse() throws std::invalid_argument with one line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "blockdev/model/grammar.hpp"
#include "blockdev/model/servers.hpp"

namespace blkscope::model {

/// `ssd:CHANNELS:READ:PROGRAM:GC_EVERY:GC_PAUSE`.
struct SsdShape {
    uint32_t channels = 0;
    Time read;
    Time program;
    uint64_t gc_every_bytes = 0;
    Time gc_pause;

    static constexpr uint32_t channels_max = 1024;

    static SsdShape parse(std::string_view arguments);
    [[nodiscard]] std::string text() const;

    friend bool operator==(const SsdShape&, const SsdShape&) = default;
};

class Ssd {
  public:
    static constexpr uint64_t stripe_bytes = 4096;

    explicit Ssd(const SsdShape& shape);

    /// A read or write of at least one byte, which might have started at `ready`. The channel that
    /// ends last also takes `extra`.
    struct Request {
        bool write = false;
        uint64_t offset = 0;
        uint64_t bytes = 0;
        hrtime_t ready = 0;
        hrtime_t extra = 0;
    };

    /// The request's stay. The server is the channel that ends last.
    Stay take(Servers& channels, const Request& request);

  private:
    void pause(Servers& channels, uint32_t channel, uint64_t bytes);

    SsdShape shape_;
    std::vector<uint64_t> written_bytes_;  // per channel, since its last pause
};

}  // namespace blkscope::model
