#include "simulated_dialer.hpp"

#include <limits>
#include <utility>

namespace blkscope::simulation {
namespace {

constexpr uint64_t answer_ns_min = 10'000;
constexpr uint64_t answer_ns_max = 50'000'000;

}  // namespace

void SimulatedDialer::begin(std::chrono::milliseconds limit) {
    const auto delay = static_cast<hrtime_t>(random_.between(answer_ns_min, answer_ns_max));
    answered_at_ = timeline_.now() + delay;
    ends_at_ = timeline_.now() + std::chrono::nanoseconds(limit).count();
}

std::optional<nbd::DialResult> SimulatedDialer::result() {
    const hrtime_t now = timeline_.now();
    if (now < answered_at_) return std::nullopt;
    if (server_.is_down()) return dial_now({});
    if (server_.is_stopped()) {
        if (now < ends_at_) return std::nullopt;
        return dial_now({});
    }
    nbd::DialResult result;
    ++sets_;
    const unsigned places =
        places_.one_in(4) ? static_cast<unsigned>(places_.between(1, count_)) : count_;
    for (unsigned i = 0; i < places; ++i) result.connections.push_back(connect());
    return result;
}

nbd::RemoteConnection SimulatedDialer::connect() {
    nbd::RemoteConnection connection;
    connection.remote = server_.offer();
    // The backing closes it at once, and without the simulated kernel.
    if (connection.remote.size_bytes != bytes_) return connection;
    Wire wire;
    wire.is_unix = random_.one_in(2);
    wire.segment_bytes = random_.one_in(4) ? random_.between(1, 64) : 8192;
    auto [ours, theirs] = SimulatedSocket::pair(timeline_, random_, wire);
    server_.accept(std::move(theirs), connection.remote, sets_);
    connection.socket = Descriptor(kernel_.open_socket(std::move(ours)));
    return connection;
}

std::vector<nbd::RemoteConnection> lost_connection(OtherServer& server) {
    std::vector<nbd::RemoteConnection> first(1);
    first.front().socket = Descriptor(std::numeric_limits<int>::max());
    first.front().remote = server.offer();
    return first;
}

}  // namespace blkscope::simulation
