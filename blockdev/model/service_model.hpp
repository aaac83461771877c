// ServiceModel: from when to when a started request is served, by the model of its device.
//
//     start(buf, ready) ─▶ place, draw, server ─▶ Stay{begin, end}   the request ends at `end`
//     ended(stay, answered)                                          unless the backing is slower
//
// Requests of an operation are numbered in the order of starting. A request's draw is a function of
// the seed, the operation and the number. A write with FUA takes a draw of a write and one of a flush. `extra_ns` is the
// delay of a fault rule, which is service, too.
//
// Units:     nanoseconds of the caller's clock; bytes.
// Ownership: a value. Borrows each buf for the call.
// Threads:   one at a time.
// Errors:    none.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "blockdev/model/hdd.hpp"
#include "blockdev/model/model_spec.hpp"
#include "blockdev/model/places.hpp"
#include "blockdev/model/servers.hpp"
#include "blockdev/model/ssd.hpp"
#include "blockdev/queue/buf.hpp"
#include "trace/model_state.hpp"

namespace blkscope::model {

class ServiceModel {
  public:
    /// The server of a request that takes none: its operation has no time.
    static constexpr uint32_t no_server = std::numeric_limits<uint32_t>::max();

    struct Counts {
        uint64_t drawn = 0;       // requests
        uint64_t overruns = 0;    // requests for which the backing took longer than planned
        uint64_t overrun_ns = 0;  // the sum of what it took longer
    };

    /// For a device of `size_bytes` that runs at most `depth` requests. `seed` is used unless the
    /// spec has one.
    ServiceModel(const ModelSpec& spec, uint64_t size_bytes, uint32_t depth, uint64_t seed);

    [[nodiscard]] const ModelSpec& spec() const { return spec_; }
    [[nodiscard]] uint64_t seed() const { return seed_; }
    [[nodiscard]] const Servers& servers() const { return servers_; }
    [[nodiscard]] const Counts& counts() const { return counts_; }
    void set_depth(uint32_t depth);
    /// So many requests run that are from before the model.
    void begin_beside(uint32_t running) { places_.occupy(running); }
    /// One of these has ended.
    void other_ended(hrtime_t end) { places_.give_other(end); }
    /// Whether it is known since when the place of the next request has been free.
    [[nodiscard]] bool knows_place() const { return places_.knows_next(); }

    /// Adds the draws of each operation so far, and the place of the head, to `state`.
    void add_to(trace::ModelState& state) const;
    /// The next draws and the head's place are those of `state`.
    void go_on_from(const trace::ModelState& state);

    /// The stay of a request that starts. By arrival and limits, it might have started at `ready`.
    Stay start(const Buf& buf, hrtime_t ready, double extra_ns = 0);

    /// The request has ended. The backing answered at `answered`.
    void ended(const Stay& stay, hrtime_t answered);

  private:
    Draws next_draws(Buf::Op op);
    double draw_ns(const Buf& buf);
    Stay take(const Buf& buf, hrtime_t ready, double ns);

    ModelSpec spec_;
    uint64_t seed_;
    Servers servers_;
    Places places_;
    std::optional<Hdd> hdd_;
    std::optional<Ssd> ssd_;
    std::array<uint64_t, Buf::op_count> drawn_{};
    Counts counts_;
};

}  // namespace blkscope::model
