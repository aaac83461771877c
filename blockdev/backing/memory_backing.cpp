#include "blockdev/backing/memory_backing.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/detached_thread.hpp"

namespace blkscope {
namespace {

constexpr uint64_t freed_elsewhere_bytes_min = uint64_t{64} << 20;

// The kernel needs tenths of a second for each GiB that was written, and other exports of the worker must not wait.
void free_elsewhere(MemoryStore* store) {
    std::shared_ptr<MemoryStore> last(store);
    if (store->size_bytes() < freed_elsewhere_bytes_min) return;
    try {
        run_detached([its_last = std::move(last)] {});
    } catch (const std::system_error&) {
        // There can be no thread, and the store is freed already.
    }
}

}  // namespace

MemoryBacking::MemoryBacking(uint64_t size_bytes)
    : MemoryBacking(std::shared_ptr<MemoryStore>(new MemoryStore(size_bytes), free_elsewhere)) {}

std::unique_ptr<Backing> MemoryBacking::another() const {
    return std::unique_ptr<Backing>(new MemoryBacking(store_));  // its constructor is private
}

std::optional<int32_t> MemoryBacking::prepare(Buf& buf) {
    assert(ring_ != nullptr && buf.state == Buf::State::running);
    assert(!buf.in_queues() || buf.moved() == 0);  // a read or write is one operation
    switch (buf.op) {
        case Buf::Op::read:
            ring_->unlock();
            store_->read(buf.offset, {buf.data, buf.bcount});
            return static_cast<int32_t>(buf.bcount);
        case Buf::Op::write:
            ring_->unlock();
            store_->write(buf.offset, {buf.data, buf.bcount});
            return static_cast<int32_t>(buf.bcount);
        case Buf::Op::trim:
        case Buf::Op::write_zeroes:
            ring_->unlock();
            return zero(buf);
        case Buf::Op::flush:
        case Buf::Op::cache:
        case Buf::Op::block_status:
            return 0;
    }
    return -EOPNOTSUPP;
}

bool MemoryBacking::read_now(uint64_t offset, std::span<std::byte> to) {
    const uint64_t size = store_->size_bytes();
    if (offset > size || to.size() > size - offset) return false;
    store_->read(offset, to);
    return true;
}

bool MemoryBacking::write_now(uint64_t offset, std::span<const std::byte> from) {
    const uint64_t size = store_->size_bytes();
    if (offset > size || from.size() > size - offset) return false;
    store_->write(offset, from);
    return true;
}

// Zeroes a share of the range; later turns do the rest. One turn must not touch millions of pages.
std::optional<int32_t> MemoryBacking::zero(Buf& buf) {
    constexpr uint64_t share = MemoryStore::empty_bytes_max;
    const uint64_t offset = buf.offset + buf.moved();
    buf.covers = std::min(buf.resid, (offset / share + 1) * share - offset);
    if (buf.no_hole) {
        store_->fill(offset, buf.covers);
    } else {
        store_->empty(offset, buf.covers);
    }
    assert(buf.covers <= buf.resid);
    if (buf.covers == buf.resid) return 0;
    ring_->completed_later(buf, 0);
    return std::nullopt;
}

std::optional<int32_t> NullBacking::prepare(Buf& buf) {
    assert(ring_ != nullptr);
    assert(buf.state == Buf::State::running);
    assert(!buf.in_queues() || buf.moved() == 0);  // a read or write is one operation
    ring_->unlock();
    switch (buf.op) {
        case Buf::Op::read:
            std::memset(buf.data, 0, buf.bcount);
            return static_cast<int32_t>(buf.bcount);
        case Buf::Op::write:
            return static_cast<int32_t>(buf.bcount);
        case Buf::Op::flush:
        case Buf::Op::trim:
        case Buf::Op::write_zeroes:
        case Buf::Op::cache:
        case Buf::Op::block_status:
            return 0;
    }
    return -EOPNOTSUPP;
}

bool NullBacking::read_now(uint64_t, std::span<std::byte> to) {
    std::ranges::fill(to, std::byte{0});
    return true;
}

}  // namespace blkscope
