#include "driver/nbd/client/upstream_kstat.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace blkscope::nbd {
namespace {

constexpr std::array<std::string_view, 3> state_words{"connected", "waiting", "changed"};
constexpr std::array number_names{"connections", "reconnects", "resent", "losses", "round_trip"};

}  // namespace

void UpstreamKstat::publish(const Subject& subject) {
    device_ = subject.name;
    const KstatShape shape{.what = "upstream",
                           .ks_class = "misc",
                           .type = KSTAT_TYPE_NAMED,
                           .records = 1 + number_names.size()};
    kstat_ = make_device_kstat(subject, shape, this, update);
    if (!kstat_) return;
    kstat_named_t* record = KSTAT_NAMED_PTR(kstat_);
    kstat_named_init(record++, "state", KSTAT_DATA_CHAR);
    for (const char* name : number_names) kstat_named_init(record++, name, KSTAT_DATA_UINT64);
    kstat_install(kstat_.get());
}

void UpstreamKstat::connected(uint64_t connections) {
    assert(connections > 0);
    connections_.store(connections, std::memory_order_relaxed);
    state_.store(State::connected, std::memory_order_relaxed);
}

void UpstreamKstat::disconnected(State state) {
    assert(state != State::connected);
    connections_.store(0, std::memory_order_relaxed);
    state_.store(state, std::memory_order_relaxed);
}

// The first answers give a time at once.
void UpstreamKstat::answered_in(uint64_t ns) {
    shortest_ns_ = std::min(shortest_ns_, ns);
    if (++answers_ < answers_per_time && round_trip_ns_.load(std::memory_order_relaxed) != 0)
        return;
    round_trip_ns_.store(shortest_ns_, std::memory_order_relaxed);
    shortest_ns_ = std::numeric_limits<uint64_t>::max();
    answers_ = 0;
}

int UpstreamKstat::update(kstat_t* ksp, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;
    const auto& figures = *static_cast<const UpstreamKstat*>(ksp->ks_private);
    kstat_named_t* record = KSTAT_NAMED_PTR(ksp);
    const std::string_view word = state_words.at(static_cast<size_t>(figures.state()));
    assert(word.size() < sizeof record->value.c);
    std::memset(record->value.c, 0, sizeof record->value.c);
    std::memcpy(record->value.c, word.data(), word.size());
    const std::array counters{&figures.connections_, &figures.reconnects_, &figures.resent_,
                              &figures.losses_, &figures.round_trip_ns_};
    static_assert(counters.size() == number_names.size());
    for (const Counter* counter : counters) {
        (++record)->value.ui64 = counter->load(std::memory_order_relaxed);
    }
    return 0;
}

}  // namespace blkscope::nbd
