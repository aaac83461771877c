#include "blockdev/virtual_time/prediction.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>

#include "blockdev/accounting/accounting.hpp"
#include "blockdev/accounting/request_histograms.hpp"
#include "blockdev/device/device.hpp"
#include "blockdev/virtual_time/response_trend.hpp"
#include "blockdev/virtual_time/virtual_kernel.hpp"

namespace blkscope::virtual_time {
namespace {

constexpr unsigned ring_entries = 64;
// The integrals of kstat_io_t have 63 bits: a tenth of that leaves room for one more step.
constexpr double waited_ns_max = 1e18;
// Fewer requests that are left at the last arrival are no sign of too much load.
constexpr double left_always_fine = 64;
constexpr double left_share = 0.01;  // of all requests

// ---- The device ----

/// A backing without data. Each operation has ended when it begins.
class EmptyBacking final : public Backing {
  public:
    explicit EmptyBacking(uint64_t size_bytes) : size_bytes_(size_bytes) {}

    [[nodiscard]] std::string describe() const override { return "prediction"; }
    [[nodiscard]] uint64_t size_bytes() const override { return size_bytes_; }
    void attach(Ring&) override {}
    std::optional<int32_t> prepare(Buf& buf) override {
        assert(buf.state == Buf::State::running);
        if (!buf.in_queues()) return 0;
        assert(buf.bcount <= std::numeric_limits<int32_t>::max());
        return static_cast<int32_t>(buf.resid);
    }
    // No partition table.
    bool read_now(uint64_t, std::span<std::byte> to) override {
        std::ranges::fill(to, std::byte{0});
        return true;
    }

  private:
    uint64_t size_bytes_;
};

// The stamps are in nanoseconds, and nothing is published.
Subject subject_of_recording(uint64_t size_bytes) {
    Subject subject;
    subject.size_bytes = size_bytes;
    subject.ticks_are_ns = true;
    return subject;
}

// ---- The sender ----

class Sender;

struct SentRequest final : Buf {
    explicit SentRequest(Sender& by) : sender(by) { extents = ExtentList(std::span(&extent, 1)); }
    SentRequest& operator=(SentRequest&&) = delete;
    ~SentRequest() = default;

    Sender& sender;
    Extent extent;
    hrtime_t arrived = 0;
    uint64_t number = 0;  // in the order of arrival
};

void fill_in(Buf& buf, const Asked& asked) {
    static_assert(Buf::op_count == static_cast<size_t>(trace::last_op) + 1);
    buf.op = static_cast<Buf::Op>(asked.op);
    buf.fua = (asked.flags & trace::flag::fua) != 0;
    buf.no_hole = (asked.flags & trace::flag::no_hole) != 0;
    buf.fast_zero = (asked.flags & trace::flag::fast_zero) != 0;
    buf.offset = buf.op == Buf::Op::flush ? 0 : asked.offset;
    buf.bcount = buf.op == Buf::Op::flush ? 0 : asked.bytes;
}

/// Sends the requests of a load, as an alarm of the device's ring.
class Sender final : public Alarm {
  public:
    Sender(Ring& ring, Device& device, const Setting& setting, Load& load)
        : ring_(ring), device_(device), setting_(setting), load_(load), began_(ring.now()) {
        arrived_ = began_;
        fetch();
        if (more_) ring_.set_alarm(*this, is_closed() ? began_ : next_at_, false);
    }

    [[nodiscard]] bool done() const { return !more_ && ended_ == sent_; }

    /// The sender's part of the figures; the counters are the device's.
    [[nodiscard]] Figures figures() const {
        assert(done());
        Figures figures;
        figures.began = began_;
        figures.arrived = arrived_;
        figures.ended = std::max(ring_.now(), arrived_);
        figures.requests = sent_;
        figures.waiting = waiting_;
        figures.in_device = left_;
        figures.gave_up = gave_up_;
        figures.saturated = !is_closed() && is_saturated();
        return figures;
    }

    [[nodiscard]] uint64_t in_device() const { return sent_ - ended_; }

    /// Sends no more. The device is to end its requests at once.
    void give_up() {
        gave_up_ = true;
        more_ = false;
    }

  private:
    void due() override { is_closed() ? keep_in_flight() : send_due(); }

    [[nodiscard]] bool is_closed() const { return setting_.in_flight > 0; }

    void send_due() {
        const hrtime_t now = ring_.now();
        while (more_ && next_at_ <= now) {
            send();
            fetch();
        }
        if (more_) ring_.set_alarm(*this, next_at_, false);
    }

    // A line at a model's servers is as good a sign as one in the wait queue. So this asks how long
    // requests stayed, and not where. A load that grows only at its end leaves more requests in the
    // device than the usual stay explains, and more than it had before and worked off.
    [[nodiscard]] bool is_saturated() const {
        const hrtime_t span = arrived_ - began_;
        if (gave_up_ || trend_.grows_within(span)) return true;
        const auto sent = static_cast<double>(sent_);
        const double by_stay = span > 0 ? trend_.typical_ns() * sent / static_cast<double>(span)
                                        : setting_.queue_depth;
        const double usually = std::max(by_stay, static_cast<double>(trend_.worked_off()));
        return static_cast<double>(left_) - usually > std::max(left_always_fine, left_share * sent);
    }

    // Requests that take no time would never let the time be over.
    void keep_in_flight() {
        if (ring_.now() > arrived_) sent_before_ = sent_;
        gave_up_ = gave_up_ || (setting_.closed_ns > 0 && sent_ - sent_before_ > waiting_max);
        const bool over = setting_.closed_ns > 0 && ring_.now() - began_ >= setting_.closed_ns;
        if (gave_up_ || over) more_ = false;
        while (more_ && sent_ - ended_ < setting_.in_flight) {
            send();
            fetch();
        }
    }

    // The moment of the next request, or the end of the load.
    void fetch() {
        more_ = load_.next(asked_);
        if (more_ && sent_ - ended_ > waiting_max) {
            gave_up_ = true;
            more_ = false;
        }
        if (!more_ || is_closed()) return;
        const hrtime_t since = std::llround(static_cast<double>(asked_.at) / setting_.speed);
        assert(since >= 0);
        next_at_ = std::max(began_ + since, arrived_);
    }

    void send() {
        SentRequest& request = new_request();
        fill_in(request, asked_);
        request.number = sent_++;
        request.arrived = arrived_ = ring_.now();
        device_.strategy(request);
        left_ = in_device();
        trend_.arrived(request.number, left_);
        // Requests may wait for tokens while places are free.
        const uint64_t places_lacking =
            in_device() - std::min<uint64_t>(in_device(), setting_.queue_depth);
        waiting_ = std::max<uint64_t>(places_lacking, device_.io().wcnt);
    }

    SentRequest& new_request() {
        if (free_.empty()) {
            SentRequest& made = requests_.emplace_back(*this);
            made.iodone = [](Buf& buf) {
                auto& request = static_cast<SentRequest&>(buf);
                request.sender.end(request);
            };
            return made;
        }
        SentRequest& request = *free_.back();
        free_.pop_back();
        return request;
    }

    // The device calls it, so the next request is sent in the next turn.
    void end(SentRequest& request) {
        assert(request.error == 0);
        assert(ended_ < sent_);
        ++ended_;
        trend_.ended(request.number, ring_.now() - request.arrived);
        free_.push_back(&request);
        if (is_closed() && more_) ring_.set_alarm(*this, ring_.now(), false);
    }

    Ring& ring_;
    Device& device_;
    const Setting& setting_;
    Load& load_;
    const hrtime_t began_;
    Asked asked_;
    bool more_ = false;
    bool gave_up_ = false;
    hrtime_t next_at_ = 0;
    hrtime_t arrived_ = 0;
    uint64_t sent_ = 0;
    uint64_t sent_before_ = 0;  // of a closed loop: when the clock had its present moment
    uint64_t ended_ = 0;
    uint64_t waiting_ = 0;
    uint64_t left_ = 0;
    ResponseTrend trend_;
    std::deque<SentRequest> requests_;
    std::vector<SentRequest*> free_;
};

// ---- The figures ----

void add_histogram(Figures& figures, const std::string& name, const kstat2::Buckets& shape,
                   std::span<const uint64_t> counts, std::optional<uint64_t> sum) {
    assert(counts.size() == shape.count());
    figures.histograms.push_back({.name = name,
                                  .shape = shape,
                                  .counts = {counts.begin(), counts.end()},
                                  .unit = "ns",
                                  .sum = sum});
}

void add_histograms(Figures& figures, const RequestHistograms& histograms) {
    using Histograms = RequestHistograms;
    const Histograms::Counts& counts = histograms.counts();
    for (size_t op = 0; op < Histograms::operation_count; ++op) {
        const std::string name = Buf::name_of(static_cast<Buf::Op>(op));
        const Histograms::Operation& one = counts.operations[op];
        const auto& steps = Histograms::latency_steps;
        add_histogram(figures, name + "_wait", steps, one.wait, one.waited);
        add_histogram(figures, name + "_service", steps, one.service, one.served);
        add_histogram(figures, name + "_total", steps, one.total, one.waited + one.served);
        if (op == static_cast<size_t>(Buf::Op::flush)) continue;
        add_histogram(figures, name + "_size", Histograms::powers_of_2, one.size, {});
        figures.histograms.back().unit = "bytes";
    }
    add_histogram(figures, "latency", Histograms::powers_of_2, counts.latency, {});
    add_histogram(figures, "depth", Histograms::depth_steps, counts.depth, {});
    figures.histograms.back().unit = "requests";
}

// ---- A recording ----

/// A moment of a recorded request.
struct Moment {
    enum class Kind : uint8_t { entered, started, ended };

    hrtime_t at;
    Kind kind;
    uint32_t request;
};

// The moments of one request keep their order, also when they are one.
std::vector<Moment> moments_of(const std::vector<trace::Request>& requests) {
    std::vector<Moment> moments;
    moments.reserve(3 * requests.size());
    for (uint32_t i = 0; i < requests.size(); ++i) {
        const trace::Request& each = requests[i];
        if (!each.has_stages()) continue;
        assert(each.entered() <= each.started && each.started <= each.finished);
        moments.push_back({each.entered(), Moment::Kind::entered, i});
        moments.push_back({each.started, Moment::Kind::started, i});
        moments.push_back({each.finished, Moment::Kind::ended, i});
    }
    std::ranges::stable_sort(moments, {}, &Moment::at);
    return moments;
}

class Replayed {
  public:
    explicit Replayed(uint64_t size_bytes) : accounting_(subject_of_recording(size_bytes)) {
        accounting_.histograms().switch_on();
    }

    void take(const Moment& moment, const trace::Request& request) {
        const auto clock = [&] { return moment.at; };
        Buf& buf = bufs_[moment.request];
        switch (moment.kind) {
            case Moment::Kind::entered:
                enter(buf, request);
                return accounting_.entered(buf, clock);
            case Moment::Kind::started:
                buf.state = Buf::State::running;
                return accounting_.started(buf, clock);
            case Moment::Kind::ended:
                accounting_.ended(buf, clock);
                bufs_.erase(moment.request);
                ++figures_.requests;
                return;
        }
    }

    [[nodiscard]] Figures figures(const std::vector<Moment>& moments) {
        assert(bufs_.empty());
        if (!moments.empty()) figures_.began = moments.front().at;
        if (!moments.empty()) figures_.ended = moments.back().at;
        for (const Moment& each : moments) {
            if (each.kind == Moment::Kind::entered) figures_.arrived = each.at;
        }
        figures_.io = accounting_.io().disk();
        add_histograms(figures_, accounting_.histograms());
        return std::move(figures_);
    }

  private:
    void enter(Buf& buf, const trace::Request& request) {
        fill_in(buf, {.offset = request.offset,
                      .bytes = request.bytes,
                      .op = request.op,
                      .flags = request.flags});
        buf.depth_on_arrival = accounting_.io().disk().wcnt + accounting_.io().disk().rcnt;
        buf.state = Buf::State::waiting;
        buf.error = request.error;
        buf.resid = request.error == 0 ? 0 : buf.bcount;
    }

    Accounting accounting_;
    std::map<uint32_t, Buf> bufs_;
    Figures figures_;
};

}  // namespace

Figures predict(const Setting& setting, Load& load) {
    assert(setting.queue_depth > 0 && setting.size_bytes > 0);
    assert(setting.speed > 0);
    VirtualKernel kernel;
    Ring ring(ring_entries, false, kernel);
    ring.enable();
    DeviceOptions options{.queue_depth = setting.queue_depth, .behaviour = setting.behaviour};
    options.behaviour.busy_wait = false;
    Device device(ring, std::make_unique<EmptyBacking>(setting.size_bytes), std::nullopt,
                  std::move(options));
    device.histograms().switch_on();
    Sender sender(ring, device, setting, load);
    double waited_ns = 0;  // of all requests together
    bool is_too_long = false;
    for (hrtime_t before = ring.now(); !sender.done(); before = ring.now()) {
        const auto in_device = static_cast<double>(sender.in_device());
        ring.wait();
        ring.dispatch();
        waited_ns += in_device * static_cast<double>(ring.now() - before);
        if (waited_ns < waited_ns_max || is_too_long) continue;
        is_too_long = true;
        sender.give_up();
        ring.unlock();
        device.set_model({});
        device.set_limits({});
    }
    ring.unlock();
    if (is_too_long) {
        throw std::invalid_argument("the requests wait for more than 30 years together");
    }
    Figures figures = sender.figures();
    figures.io = device.io();
    assert(figures.io.wcnt == 0 && figures.io.rcnt == 0);
    add_histograms(figures, device.histograms());
    return figures;
}

Figures account(const std::vector<trace::Request>& requests, uint64_t size_bytes) {
    assert(requests.size() <= std::numeric_limits<uint32_t>::max());
    const std::vector<Moment> moments = moments_of(requests);
    Replayed replayed(size_bytes);
    for (const Moment& moment : moments) replayed.take(moment, requests[moment.request]);
    return replayed.figures(moments);
}

}  // namespace blkscope::virtual_time
