#include "rbd/operations.hpp"

#include <iterator>
#include <utility>

namespace blkscope::rbd {
namespace {

// An idle operation keeps no more memory than this.
constexpr size_t kept_bytes_max = size_t{64} << 10;

}  // namespace

Operation& Operations::take_idle() {
    if (idle_.empty()) {
        idle_.emplace_back();
        idle_.back().self_ = std::prev(idle_.end());
    }
    return idle_.front();
}

Operations::List& Operations::list_of(const Operation& operation) {
    switch (operation.state_) {
        case Operation::State::idle:
            return idle_;
        case Operation::State::running:
            return running_;
        case Operation::State::awaited:
            return awaited_;
        case Operation::State::orphan:
            return orphans_;
    }
    return idle_;
}

void Operations::move(Operation& operation, Operation::State state) {
    List& from = list_of(operation);
    operation.state_ = state;
    List& to = list_of(operation);
    to.splice(to.end(), from, operation.self_);
}

Operation& Operations::start(Buf& buf, hrtime_t deadline) {
    assert(running_.empty() || running_.back().deadline <= deadline);
    Operation& operation = take_idle();
    move(operation, Operation::State::running);
    operation.buf = &buf;
    operation.deadline = deadline;
    operation.bytes = 0;
    return operation;
}

Operation& Operations::start_awaited() {
    Operation& operation = take_idle();
    move(operation, Operation::State::awaited);
    assert(operation.buf == nullptr);
    operation.result.reset();
    return operation;
}

std::byte* Operations::memory_of(Operation& operation, size_t bytes) {
    assert(operation.state_ != Operation::State::idle);
    if (operation.memory_bytes < bytes) {
        operation.memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
        operation.memory_bytes = bytes;
    }
    return operation.memory.get();
}

void Operations::end(Operation& operation, int64_t result) {
    assert(operation.state_ != Operation::State::idle);
    if (operation.state_ == Operation::State::awaited) {
        operation.result = result;
        return;
    }
    operation.buf = nullptr;
    rest(operation);
}

void Operations::dismiss(Operation& operation) {
    assert(operation.state_ == Operation::State::awaited);
    if (!operation.result) return move(operation, Operation::State::orphan);
    rest(operation);
}

void Operations::rest(Operation& operation) {
    assert(operation.buf == nullptr);
    if (operation.memory_bytes > kept_bytes_max) {
        operation.memory.reset();
        operation.memory_bytes = 0;
    }
    move(operation, Operation::State::idle);
}

Buf* Operations::expire(hrtime_t now) {
    if (running_.empty() || running_.front().deadline > now) return nullptr;
    Operation& oldest = running_.front();
    move(oldest, Operation::State::orphan);
    return std::exchange(oldest.buf, nullptr);
}

std::optional<hrtime_t> Operations::next_deadline() const {
    if (running_.empty()) return std::nullopt;
    return running_.front().deadline;
}

}  // namespace blkscope::rbd
