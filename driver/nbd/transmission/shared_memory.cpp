#include "driver/nbd/transmission/shared_memory.hpp"

#include <cassert>

#include "blockdev/ring/planted.hpp"

namespace blkscope::nbd {
namespace {

constexpr size_t request_count = 4096;

// While there are clients, a pause of this length costs the next requests some page faults.
constexpr unsigned idle_seconds_to_give_back = 5;

}  // namespace

SharedMemory::SharedMemory() : requests_(request_count) {}

SharedMemory::~SharedMemory() {
    assert(idle());
}

PendingRequest* SharedMemory::acquire(const ClientMemory& client, uint32_t bytes) {
    assert(bytes <= Arena::piece_bytes_max);
    if (is_large(bytes) && first_in_line_ != nullptr && first_in_line_ != &client) return nullptr;
    PendingRequest* const request = requests_.acquire();
    if (request == nullptr) return nullptr;
    assert(!request->of_reserve);
    request->data = bytes > 0 ? arena_.acquire(bytes) : nullptr;
    request->held_bytes = bytes;
    if (bytes > 0 && request->data == nullptr) {
        requests_.release(*request);
        return nullptr;
    }
    if (is_large(bytes)) leave_line(client);
    used_ = true;
    return request;
}

void SharedMemory::release(PendingRequest& request) {
    assert(!request.of_reserve);
    assert((request.held_bytes > 0) == (request.data != nullptr));
    if (request.held_bytes > 0 && !planted("piece-kept")) {
        arena_.release(request.data, request.held_bytes);
    }
    requests_.release(request);
    released_ = true;
}

void SharedMemory::stand_in_line(const ClientMemory& client, uint32_t bytes) {
    assert(bytes <= Arena::piece_bytes_max);
    if (is_large(bytes) && first_in_line_ == nullptr) first_in_line_ = &client;
}

void SharedMemory::leave_line(const ClientMemory& client) {
    if (first_in_line_ != &client) return;
    first_in_line_ = nullptr;
    released_ = true;
}

void SharedMemory::tick(bool any_clients) {
    released_ = true;  // a waiting client tries again at least once a second
    const bool idle = !std::exchange(used_, false) && arena_.idle();
    idle_seconds_ = idle ? idle_seconds_ + 1 : 0;
    if (!arena_.touched() || !arena_.idle()) return;
    if (any_clients && idle_seconds_ < idle_seconds_to_give_back) return;
    arena_.give_back_pages();
    assert(!arena_.touched());
}

}  // namespace blkscope::nbd
