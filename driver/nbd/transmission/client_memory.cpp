#include "driver/nbd/transmission/client_memory.hpp"

#include <cassert>
#include <utility>

#include "base/seqlock.hpp"
#include "driver/nbd/transmission/session_limits.hpp"

namespace blkscope::nbd {

ClientMemory::~ClientMemory() {
    assert(requests_held_ == 0 && figures_.held_bytes == 0);
    shared_.leave_line(*this);
}

// A request that waits is counted once, however often it asks.
PendingRequest* ClientMemory::acquire(uint32_t data_bytes) {
    PendingRequest* const request = find_room(data_bytes);
    const bool waited = std::exchange(waits_, request == nullptr);
    if (request == nullptr) {
        if (!waited) publish(figures_.stalls, figures_.stalls + 1);
        return nullptr;
    }
    assert(request->held_bytes == data_bytes);
    ++requests_held_;
    hold(figures_.held_bytes + data_bytes);
    return request;
}

// A client at its own limit waits for its own replies, so lacks() stays false.
PendingRequest* ClientMemory::find_room(uint32_t data_bytes) {
    assert(requests_held_ <= requests_held_max);
    lacks_ = false;
    if (requests_held_ == requests_held_max) return nullptr;
    const uint64_t held = figures_.held_bytes;
    if (held > 0 && held + data_bytes > bytes_held_max) return nullptr;
    PendingRequest* request = shared_.acquire(*this, data_bytes);
    lacks_ = request == nullptr;
    if (request == nullptr) request = reserve_.acquire(data_bytes);
    if (request == nullptr) {
        shared_.stand_in_line(*this, data_bytes);
        return nullptr;
    }
    if (request->of_reserve) shared_.leave_line(*this);
    return request;
}

void ClientMemory::release(PendingRequest& request) {
    assert(requests_held_ > 0);
    assert(figures_.held_bytes >= request.held_bytes);
    hold(figures_.held_bytes - request.held_bytes);
    --requests_held_;
    assert(requests_held_ > 0 || figures_.held_bytes == 0);
    request.session = nullptr;
    if (!request.of_reserve) return shared_.release(request);
    reserve_.release(request);
    shared_.note_release();
}

void ClientMemory::stop_waiting() {
    lacks_ = false;
    shared_.leave_line(*this);
}

void ClientMemory::tick(bool owes, uint64_t bytes_moved) {
    assert(bytes_moved >= bytes_moved_);
    if (owes && bytes_moved - bytes_moved_ < progress_bytes_min) {
        ++idle_seconds_;
    } else {
        idle_seconds_ = 0;
        bytes_moved_ = bytes_moved;
    }
    reserve_.tick();
    lacks_ = false;  // a client that still waits asks again in this turn
}

bool ClientMemory::is_stalled() const {
    const uint32_t own = reserve_.is_out() ? 1 : 0;
    assert(requests_held_ >= own);
    return idle_seconds_ >= idle_seconds_max && requests_held_ > own;
}

}  // namespace blkscope::nbd
