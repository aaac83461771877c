// ResponseTrend: whether requests stay in a device for longer and longer.
//
//     mean stay │          ▂ ▄ ▆      a device that keeps up has no slope here; with one that does
//               │      ▂ ▄ █ █ █      not, each request finds a longer line than the one before it,
//               │  ▂ ▄ █ █ █ █ █      wherever that line is: in the wait queue, at a limit or at a
//               └──1─2─3─4─5─6─7─▶    model's servers
//
// The requests are in blocks, by the order of their arrival. At a constant offered rate, a
// response that grows by a share g of the time of the arrivals means that the device serves
// 1 / (1 + g) of the rate.
//
// Units:     nanoseconds.
// Ownership: a value; its memory does not grow with the number of requests.
// Threads:   one.
// Errors:    none.
// Source:    batch means: Law, Simulation modeling and analysis, chapter 9.
#pragma once

#include <sys/kstat.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace blkscope::virtual_time {

class ResponseTrend {
  public:
    /// The device has so many requests with this one, which has just arrived.
    void arrived(uint64_t number, uint64_t in_device);

    /// `number` is that of the request in the order of arrival, from 0. Requests end in any order.
    void ended(uint64_t number, hrtime_t response);

    struct Growth {
        double ns = 0;      // from the first block to the last, by the line of least squares
        double errors = 0;  // the same in standard errors
    };
    /// No growth if there are too few requests to say.
    [[nodiscard]] Growth growth() const;

    /// Whether responses grew by more than chance explains, during arrivals that lasted for `span`.
    [[nodiscard]] bool grows_within(hrtime_t span) const;

    /// The most requests that were in the device at once, as the first half of them arrived: bursts.
    [[nodiscard]] uint64_t worked_off() const;

    /// The mean response of the block in the middle of all; 0 without requests.
    [[nodiscard]] double typical_ns() const;

  private:
    struct Block {
        double response_ns = 0;
        uint64_t requests = 0;
        uint64_t in_device_max = 0;
    };
    static constexpr size_t blocks_max = 16;

    Block& block_of(uint64_t number);
    [[nodiscard]] size_t whole_blocks() const;

    std::array<Block, blocks_max> blocks_{};
    uint64_t block_requests_ = 1;
    uint64_t requests_ = 0;  // that ended
    uint64_t arrived_ = 0;
};

}  // namespace blkscope::virtual_time
