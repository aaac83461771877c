#include "recursion.hpp"

#include <array>
#include <cassert>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "virtual_device.hpp"

namespace blkscope::queueing {
namespace {

using model::Distribution;
using model::Draws;
using model::ModelSpec;

constexpr uint64_t count = 4000;
constexpr uint64_t arrival_stream = 1000;
constexpr uint64_t model_seed = 1;  // of a VirtualDevice

model::Histogram measured(const std::string&, std::string_view) {
    return {{{100e3, 500e3, 4}, {500e3, 1e6, 3}, {3e6, 5e6, 1}}};
}

// The length of the union of stays, whose begins ascend.
class Union {
  public:
    void add(hrtime_t begin, hrtime_t end) {
        length_ += std::max<hrtime_t>(end - std::max(begin, covered_), 0);
        covered_ = std::max(covered_, end);
    }
    [[nodiscard]] hrtime_t length() const { return length_; }

  private:
    hrtime_t covered_ = 0;
    hrtime_t length_ = 0;
};

std::vector<hrtime_t> arrivals_of(double gap_ns) {
    std::vector<hrtime_t> arrivals;
    hrtime_t now = 0;
    for (uint64_t n = 0; n < count; ++n) {
        now += std::llround(-std::log(Draws(7, arrival_stream, n).share()) * gap_ns);
        arrivals.push_back(now);
    }
    return arrivals;
}

// The counters of a virtual device after all of these requests.
template <class Make>
Integrals accounted(const ModelSpec& spec, uint32_t depth, const std::vector<hrtime_t>& arrivals,
                    Make make) {
    VirtualDevice device(spec, depth);
    size_t at = 0;
    hrtime_t last = 0;
    const auto next = [&] {
        if (at == arrivals.size()) return hrtime_t{0};
        const hrtime_t gap = arrivals[at] - last;
        last = arrivals[at++];
        return gap;
    };
    const hrtime_t end = run_open(device, arrivals.size(), next, make, [](const Past&) {});
    const kstat_io_t io = device.snapshot(end);
    assert(io.wcnt == 0);
    assert(io.rcnt == 0);
    assert(io.reads == arrivals.size());
    return integrals_of(io);
}

// Reads and writes of 1 to 64 KiB, anywhere, in the order of a seed; some follow the one before.
std::vector<Request> mixed_requests() {
    std::vector<Request> requests;
    for (uint64_t n = 0; n < count; ++n) {
        Draws draws(11, 2, n);
        const uint64_t bytes = 512 * (1 + draws.below(128));
        const uint64_t sectors = VirtualDevice::size_bytes / 512 - 128;
        uint64_t offset = 512 * draws.below(sectors);
        const uint64_t kind = draws.below(4);
        if (kind == 0 && n > 0) {
            const Request& before = requests.back();
            offset = std::min(before.offset + before.bytes, 512 * sectors);
        }
        if (kind == 1 && n > 0) offset = std::min(requests.back().offset + 300'000, 512 * sectors);
        requests.push_back({draws.below(3) == 0 ? Buf::Op::write : Buf::Op::read, offset, bytes});
    }
    return requests;
}

auto one_by_one(const std::vector<Request>& requests) {
    return [&requests, at = size_t{0}]() mutable { return requests[at++]; };
}

// The times of a disk with a head, from the formula.
std::vector<hrtime_t> hdd_services(const std::vector<Request>& requests) {
    std::vector<hrtime_t> services;
    std::array<uint64_t, Buf::op_count> numbers{};
    double head = 0;
    for (const Request& request : requests) {
        const auto op = static_cast<size_t>(request.op);
        const double distance = std::abs(static_cast<double>(request.offset) - head);
        const double turn = Draws(model_seed, op, numbers[op]++).share() * 60e9 / 7200;
        double ns = static_cast<double>(request.bytes) * 1e9 / (100 << 20);
        if (distance > 0) ns += turn;
        if (distance >= 1 << 20) {
            ns += 1e6 + 15e6 * std::sqrt(distance / static_cast<double>(VirtualDevice::size_bytes));
        }
        services.push_back(std::llround(ns));
        head = static_cast<double>(request.offset + request.bytes);
    }
    return services;
}

// A slow model of `ssd:6:60us:200us:1M:3ms`, stripe by stripe.
class SlowSsd {
  public:
    hrtime_t end(const Request& request, hrtime_t started) {
        const bool write = request.op == Buf::Op::write;
        const uint64_t last = (request.offset + request.bytes - 1) / 4096;
        hrtime_t end = 0;
        std::array<uint64_t, 6> stripes{};
        for (uint64_t at = request.offset / 4096; at <= last; ++at) {
            hrtime_t& channel = free_[at % 6];
            channel = std::max(channel, started) + (write ? 200'000 : 60'000);
            end = std::max(end, channel);
            ++stripes[at % 6];
        }
        for (size_t channel = 0; write && channel < 6; ++channel) {
            written_[channel] += stripes[channel] * 4096;
            if (written_[channel] < 1 << 20) continue;
            written_[channel] -= 1 << 20;
            free_[channel] += 3'000'000;
        }
        return end;
    }

  private:
    std::array<hrtime_t, 6> free_{};
    std::array<uint64_t, 6> written_{};
};

std::string name_of(const std::string& model, double gap_ns, uint32_t depth) {
    return model + ", gap " + std::to_string(gap_ns) + ", depth " + std::to_string(depth);
}

}  // namespace

Integrals integrals_of(const std::vector<Moments>& all) {
    Integrals sums;
    Union waiting;
    Union running;
    for (const Moments& each : all) {
        sums.wlentime += each.started - each.arrived;
        sums.rlentime += each.ended - each.started;
        waiting.add(each.arrived, each.started);
        running.add(each.started, each.ended);
    }
    sums.wtime = waiting.length();
    sums.rtime = running.length();
    return sums;
}

std::vector<Moments> recursion(const std::vector<hrtime_t>& arrivals,
                               const std::vector<hrtime_t>& services, uint32_t servers,
                               uint32_t depth) {
    assert(services.size() >= arrivals.size());
    std::multiset<hrtime_t> free;
    for (uint32_t i = 0; i < servers; ++i) free.insert(0);
    Depth places(depth);
    std::vector<Moments> all;
    for (size_t i = 0; i < arrivals.size(); ++i) {
        const hrtime_t started = places.start(arrivals[i]);
        const hrtime_t begin = std::max(started, *free.begin());
        free.erase(free.begin());
        free.insert(begin + services[i]);
        places.end_at(begin + services[i]);
        all.push_back({arrivals[i], started, begin + services[i]});
    }
    return all;
}

std::vector<hrtime_t> services_of(const Distribution& distribution, uint64_t seed,
                                  uint64_t requests) {
    std::vector<hrtime_t> services;
    for (uint64_t n = 0; n < requests; ++n) {
        Draws draws(seed, static_cast<uint64_t>(Buf::Op::read), n);
        services.push_back(std::llround(distribution.draw_ns(draws)));
    }
    return services;
}

std::vector<Compared> compare_distribution(const std::string& text) {
    const Distribution distribution =
        Distribution::parse(text, [](const std::string& file) { return measured(file, "read"); });
    const auto services = services_of(distribution, model_seed, count);
    std::vector<Compared> all;
    for (const uint32_t servers : {1U, 2U, 4U, 16U}) {
        const ModelSpec spec =
            ModelSpec::parse("servers=" + std::to_string(servers) + ",read=" + text, measured);
        for (const double load : {0.2, 0.5, 0.8, 0.95}) {
            const double gap_ns = distribution.mean_ns() / load / servers;
            const auto arrivals = arrivals_of(gap_ns);
            // With more depth than servers, requests also stand in a line within the device.
            for (const uint32_t depth : {servers, 2 * servers + 1}) {
                all.push_back({name_of(spec.text(), gap_ns, depth),
                               accounted(spec, depth, arrivals, [] { return Request{}; }),
                               integrals_of(recursion(arrivals, services, servers, depth))});
            }
        }
    }
    return all;
}

std::vector<Compared> compare_hdd() {
    const ModelSpec spec = ModelSpec::parse("all=hdd:7200:1ms:16ms:100M", nullptr);
    const auto requests = mixed_requests();
    const auto services = hdd_services(requests);
    std::vector<Compared> all;
    for (const double gap : {50e6, 15e6, 11e6}) {
        const auto arrivals = arrivals_of(gap);
        for (const uint32_t depth : {1U, 32U}) {
            all.push_back({name_of(spec.text(), gap, depth),
                           accounted(spec, depth, arrivals, one_by_one(requests)),
                           integrals_of(recursion(arrivals, services, 1, depth))});
        }
    }
    return all;
}

std::vector<Compared> compare_ssd() {
    const ModelSpec spec = ModelSpec::parse("all=ssd:6:60us:200us:1M:3ms", nullptr);
    const auto requests = mixed_requests();
    std::vector<Compared> all;
    for (const double gap : {2e6, 300e3, 150e3}) {
        const auto arrivals = arrivals_of(gap);
        for (const uint32_t depth : {1U, 32U, 1000U}) {
            SlowSsd disk;
            Depth places(depth);
            std::vector<Moments> moments;
            for (size_t i = 0; i < arrivals.size(); ++i) {
                const hrtime_t started = places.start(arrivals[i]);
                const hrtime_t end = disk.end(requests[i], started);
                places.end_at(end);
                moments.push_back({arrivals[i], started, end});
            }
            all.push_back({name_of(spec.text(), gap, depth),
                           accounted(spec, depth, arrivals, one_by_one(requests)),
                           integrals_of(moments)});
        }
    }
    return all;
}

}  // namespace blkscope::queueing
