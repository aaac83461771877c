#include "blockdev/model/service_model.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace blkscope::model {

ServiceModel::ServiceModel(const ModelSpec& spec, uint64_t size_bytes, uint32_t depth,
                           uint64_t seed)
    : spec_(spec),
      seed_(spec.seed.value_or(seed)),
      servers_(spec.server_count(depth)),
      places_(depth) {
    assert(!(spec_.hdd && spec_.ssd));
    if (spec_.hdd) hdd_.emplace(*spec_.hdd, size_bytes);
    if (spec_.ssd) ssd_.emplace(*spec_.ssd);
}

void ServiceModel::set_depth(uint32_t depth) {
    const uint32_t count = spec_.server_count(depth);
    if (count != servers_.count()) servers_.resize(count);
    places_.resize(depth);
}

void ServiceModel::add_to(trace::ModelState& state) const {
    static_assert(Buf::op_count == trace::op_count);
    state.drawn = drawn_;
    if (hdd_) state.head = hdd_->head();
}

void ServiceModel::go_on_from(const trace::ModelState& state) {
    assert(counts_.drawn == 0);
    drawn_ = state.drawn;
    if (hdd_ && state.head) hdd_->set_head(*state.head);
}

Stay ServiceModel::start(const Buf& buf, hrtime_t ready, double extra_ns) {
    assert(extra_ns >= 0);
    ready = std::max(ready, places_.take());
    if (!spec_.has(buf.op)) return {no_server, ready, ready + std::llround(extra_ns)};
    ++counts_.drawn;
    return take(buf, ready, draw_ns(buf) + extra_ns);
}

// The draw, without the time that the channels of an ssd add by themselves.
double ServiceModel::draw_ns(const Buf& buf) {
    assert(spec_.has(buf.op));
    Draws draws = next_draws(buf.op);
    double ns = 0;
    if (const auto& time = spec_.time_of(buf.op); time) {
        ns += time->draw_ns(draws);
    } else if (hdd_) {
        ns += hdd_->draw_ns(buf.offset, buf.bcount, draws);
    }
    if (buf.in_queues()) ns += static_cast<double>(buf.bcount) * spec_.per_byte.ns();
    if (const auto& flush = spec_.time_of(Buf::Op::flush); buf.fua && flush) {
        Draws of_flush = next_draws(Buf::Op::flush);
        ns += flush->draw_ns(of_flush);
    }
    return ns;
}

Stay ServiceModel::take(const Buf& buf, hrtime_t ready, double ns) {
    constexpr double longest_ns = Time{Time::max_ps}.ns();  // a pareto has no upper bound
    const hrtime_t time = std::llround(std::min(ns, longest_ns));
    assert(time >= 0);
    if (!ssd_ || spec_.time_of(buf.op) || buf.bcount == 0) return servers_.take(ready, time);
    return ssd_->take(servers_, {.write = buf.op == Buf::Op::write,
                                 .offset = buf.offset,
                                 .bytes = buf.bcount,
                                 .ready = ready,
                                 .extra = time});
}

Draws ServiceModel::next_draws(Buf::Op op) {
    const auto index = static_cast<size_t>(op);
    assert(index < drawn_.size());
    return {seed_, index, drawn_[index]++};
}

void ServiceModel::ended(const Stay& stay, hrtime_t answered) {
    places_.give(std::max(stay.end, answered));
    if (answered <= stay.end || stay.server == no_server) return;
    ++counts_.overruns;
    counts_.overrun_ns += static_cast<uint64_t>(answered - stay.end);
    servers_.overrun(stay.server, answered);
}

}  // namespace blkscope::model
