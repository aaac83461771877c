// Asker: a requester of a device, without a client. Stays: the times of all its finished requests.
//
//     draw() ─▶ Device::strategy() ─▶ iodone ─▶ judge()
//                                       └─────▶ Stays::add()
//
// Units:     bytes; nanoseconds of virtual time, which are the ticks.
// Ownership: an asker owns its data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "blockdev/queue/buf.hpp"
#include "oracle.hpp"
#include "random.hpp"

namespace blkscope::simulation {

struct Asker : Buf {
    uint32_t write = 0;  // the write's number in the oracle; 0: none
    hrtime_t made = 0;
    bool out = false;
    bool through = false;  // each write is stable when it is answered
    std::vector<std::byte> bytes;

    /// Makes a request of up to `blocks_max` blocks, and tells the oracle: choose() and begin().
    void draw(Random& random, Oracle& oracle, hrtime_t now, uint64_t blocks_max);
    void choose(Random& random, uint64_t device_bytes, uint64_t blocks_max);
    void begin(Oracle& oracle, hrtime_t now);
    /// The request is done. Tells the oracle; returns the error in the data, or an empty text.
    std::string judge(Oracle& oracle, hrtime_t now);
};

/// The times of a finished request.
struct Stay {
    Buf::Op op = Buf::Op::read;
    uint64_t key = 0;  // of the client
    hrtime_t queued = 0;
    hrtime_t started = 0;
    hrtime_t finished = 0;

    [[nodiscard]] bool counts() const { return op == Buf::Op::read || op == Buf::Op::write; }
};

class Stays {
  public:
    /// Returns the error in the request's times, or an empty text.
    std::string add(const Buf& buf, uint64_t key);
    [[nodiscard]] const std::vector<Stay>& all() const { return all_; }
    /// Compares all requests with the counters of their device. Returns the error, or an empty text.
    [[nodiscard]] std::string check(const kstat_io_t& io) const;

  private:
    std::vector<Stay> all_;
    uint64_t read_bytes_ = 0;
    uint64_t written_bytes_ = 0;
};

}  // namespace blkscope::simulation
