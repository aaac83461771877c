// The simulated kernel's files.

#include <linux/falloc.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "simulated_kernel.hpp"

namespace blkscope::simulation {

hrtime_t SimulatedKernel::disk_time() {
    assert(disk.ns_min > 0 && disk.ns_min <= disk.ns_max);
    return static_cast<hrtime_t>(
        random_.between(static_cast<uint64_t>(disk.ns_min), static_cast<uint64_t>(disk.ns_max)));
}

// An operation takes effect at one moment between its beginning and its end. The sync within a write comes at
// its end: a sync that fails meanwhile may lose the data.
void SimulatedKernel::begin_on_file(const OperationRef& operation) {
    assert(operation->on->file != nullptr);
    const hrtime_t whole = disk_time();
    const hrtime_t first =
        random_.one_in(2) ? 0 : static_cast<hrtime_t>(random_.below(static_cast<uint64_t>(whole)));
    timeline_.after(first, [this, operation, rest = whole - first] {
        SimulatedFile& file = *operation->on->file;
        if (!file.hangs(random_)) return end_on_file(operation, do_on_file(*operation), rest);
        if (random_.one_in(2)) {
            file.hold([=, this] { end_on_file(operation, do_on_file(*operation), rest); });
        } else {
            const int32_t result = do_on_file(*operation);
            file.hold([=, this] { end_on_file(operation, result, rest); });
        }
    });
}

void SimulatedKernel::end_on_file(const OperationRef& operation, int32_t result, hrtime_t rest) {
    timeline_.after(rest, [this, operation, result] {
        end(operation, is_synced(*operation) ? sync_written(*operation, result) : result);
    });
}

int32_t SimulatedKernel::do_on_file(Operation& operation) {
    if (operation.ring->removed) return 0;
    if (const int32_t error = file_fault(operation); error < 0) return error;
    if (random_.one_in(16)) operation.on->file->write_back_some(random_);
    switch (operation.entry.opcode) {
        case IORING_OP_READ:
            return read_file(operation);
        case IORING_OP_WRITE:
            return write_file(operation);
        case IORING_OP_FSYNC:
            return sync_file(operation);
        case IORING_OP_FALLOCATE:
            return allocate(operation);
        case IORING_OP_FADVISE:
            operation.on->file->advise(operation.entry.off, operation.entry.len);
            return 0;
        default:
            return 0;
    }
}

void SimulatedKernel::note_failure(const SimulatedFile& file, uint64_t at, uint64_t bytes,
                                   int error) {
    failures.push_back({.file = &file,
                        .syncs = false,
                        .at = at,
                        .bytes = bytes,
                        .error = error,
                        .when = timeline_.now()});
}

// Mostly EIO, sometimes another one that a filesystem or a disk has.
int SimulatedKernel::read_errno() {
    static constexpr int others[] = {ENOMEM, EREMOTEIO, ETIMEDOUT, EACCES, ENODATA, ENXIO};
    return errors_.one_in(4) ? others[errors_.below(std::size(others))] : EIO;
}

int SimulatedKernel::write_errno(bool fills) {
    static constexpr int others[] = {EDQUOT, EFBIG, EROFS, ENOMEM, ETIMEDOUT, ENOLINK};
    const int usual = fills ? ENOSPC : EIO;
    return errors_.one_in(4) ? others[errors_.below(std::size(others))] : usual;
}

int32_t SimulatedKernel::file_fault(const Operation& operation) {
    const int32_t error = draw_file_fault(operation);
    if (error < 0) {
        const Entry& entry = operation.entry;
        const bool by_address = entry.opcode == IORING_OP_FALLOCATE;
        note_failure(*operation.on->file, entry.off, by_address ? entry.addr : entry.len, -error);
    }
    return error;
}

int32_t SimulatedKernel::draw_file_fault(const Operation& operation) {
    const uint8_t what = operation.entry.opcode;
    if (chance(faults.interrupted)) {
        ++interruptions;
        return random_.one_in(2) ? -EINTR : -EAGAIN;
    }
    const bool reads = what == IORING_OP_READ;
    const bool writes = what == IORING_OP_WRITE || what == IORING_OP_FALLOCATE;
    if (reads && chance(faults.read_error)) {
        ++other_failures;
        return -read_errno();
    }
    if (writes && chance(faults.write_error)) {
        ++other_failures;
        return -write_errno(!random_.one_in(2));
    }
    return 0;
}

int32_t SimulatedKernel::read_file(Operation& operation) {
    const Entry& entry = operation.entry;
    uint64_t bytes = entry.len;
    if (bytes > sector_bytes && chance(faults.short_transfer)) {
        bytes = random_.between(1, bytes / sector_bytes) * sector_bytes;
    }
    bytes = std::min<uint64_t>(bytes, entry.len);
    const uint64_t moved =
        operation.on->file->read(entry.off, {reinterpret_cast<std::byte*>(entry.addr), bytes});
    if (moved == 0) {  // behind the end of a truncated file
        ++other_failures;
        note_failure(*operation.on->file, entry.off, entry.len, EIO);
    }
    return static_cast<int32_t>(moved);
}

// Cut only between two sectors: a disk never has half a sector.
int32_t SimulatedKernel::write_file(Operation& operation) {
    const Entry& entry = operation.entry;
    SimulatedFile& file = *operation.on->file;
    uint64_t bytes = entry.len;
    if (bytes > sector_bytes && chance(faults.short_transfer)) {
        bytes = random_.between(1, bytes / sector_bytes) * sector_bytes;
    }
    if (entry.off >= file.bytes()) return -EFBIG;
    bytes = std::min(bytes, file.bytes() - entry.off);
    file.write(entry.off, {reinterpret_cast<const std::byte*>(entry.addr), bytes});
    return static_cast<int32_t>(bytes);
}

bool SimulatedKernel::is_synced(const Operation& operation) {
    return operation.entry.opcode == IORING_OP_WRITE &&
           (operation.entry.op_flags & RWF_DSYNC) != 0 && !operation.ring->removed;
}

// A write's sync reports any failure that this description has not seen.
int32_t SimulatedKernel::sync_written(Operation& operation, int32_t written) {
    if (written <= 0) return written;
    if (const int error = fail_or_tell(*operation.on); error < 0) return error;
    operation.on->file->sync(operation.entry.off, static_cast<uint64_t>(written));
    return written;
}

// A sync that may fail. Returns what the description has not been told of.
int SimulatedKernel::fail_or_tell(Description& on) {
    if (chance(faults.sync_error)) {
        on.file->fail_sync(random_);
        ++sync_failures;
        failures.push_back(
            {.file = on.file.get(), .syncs = true, .error = EIO, .when = timeline_.now()});
    }
    return tell_error(on);
}

int SimulatedKernel::tell_error(Description& on) {
    if (on.errors_seen == on.file->errors()) return 0;
    on.errors_seen = on.file->errors();
    return -EIO;
}

int32_t SimulatedKernel::sync_file(Operation& operation) {
    SimulatedFile& file = *operation.on->file;
    if (const int error = fail_or_tell(*operation.on); error < 0) return error;
    file.sync();
    return 0;
}

int32_t SimulatedKernel::allocate(Operation& operation) {
    const Entry& entry = operation.entry;
    SimulatedFile& file = *operation.on->file;
    const auto mode = static_cast<int>(entry.len);
    const uint64_t bytes = entry.addr;
    const bool punches = (mode & FALLOC_FL_PUNCH_HOLE) != 0;
    if (punches && !disk.can_punch) return -EOPNOTSUPP;
    if (!punches && !disk.can_zero_range) return -EOPNOTSUPP;
    assert(punches || (mode & FALLOC_FL_ZERO_RANGE) != 0);
    if (bytes == 0 || entry.off >= file.bytes() || bytes > file.bytes() - entry.off) return -EINVAL;
    file.zero(entry.off, bytes, punches);
    return 0;
}

// ---- Direct calls ----

ssize_t SimulatedKernel::pread(int fd, std::span<std::byte> to, uint64_t at) {
    return static_cast<ssize_t>(description(fd).file->read(at, to));
}

ssize_t SimulatedKernel::pwrite(int fd, std::span<const std::byte> from, uint64_t at) {
    SimulatedFile& file = *description(fd).file;
    timeline_.spend(disk.ns_min);
    int error = 0;
    if (chance(faults.interrupted)) {
        ++interruptions;
        error = random_.one_in(2) ? EINTR : EAGAIN;
    } else if (chance(faults.write_error)) {
        ++other_failures;
        error = write_errno(!random_.one_in(2));
    }
    if (error != 0) {
        note_failure(file, at, from.size(), error);
        return -error;
    }
    if (at >= file.bytes()) return -EFBIG;
    uint64_t bytes = std::min<uint64_t>(from.size(), file.bytes() - at);
    if (bytes > sector_bytes && chance(faults.short_transfer)) {
        bytes = std::min(bytes, random_.between(1, bytes / sector_bytes) * sector_bytes);
    }
    file.write(at, from.first(bytes));
    return static_cast<ssize_t>(bytes);
}

int64_t SimulatedKernel::seek(int fd, uint64_t at, int whence) {
    timeline_.spend(disk.ns_min);
    return description(fd).file->seek(at, whence);
}

int SimulatedKernel::failed_write_back(int fd) {
    return tell_error(description(fd));
}

std::byte* SimulatedKernel::map(int fd, uint64_t bytes) {
    const std::shared_ptr<SimulatedFile>& file = description(fd).file;
    if (bytes > file->length() || random_.one_in(4)) return nullptr;
    // No byte is there: copy() and the other calls find the file by the address.
    auto* const start = reinterpret_cast<std::byte*>(next_mapping_);
    next_mapping_ += (bytes / page_bytes + 2) * page_bytes;
    mappings_[start] = file;
    return start;
}

void SimulatedKernel::unmap(std::byte* start, uint64_t bytes) {
    const auto mapping = mappings_.find(start);
    assert(mapping != mappings_.end() && bytes <= mapping->second->bytes());
    mappings_.erase(mapping);
}

bool SimulatedKernel::copy(std::byte* to, std::span<const std::byte> from) {
    auto mapping = mappings_.upper_bound(to);
    assert(mapping != mappings_.begin());
    --mapping;
    const auto at = static_cast<uint64_t>(to - mapping->first);
    assert(at <= mapping->second->bytes() && from.size() <= mapping->second->bytes() - at);
    timeline_.spend(random_.one_in(8) ? disk.ns_max : disk.ns_min);
    if (chance(faults.write_error)) return false;
    return mapping->second->copy(at, from);
}

bool SimulatedKernel::is_cached(const std::byte* first, uint64_t bytes) {
    assert(bytes > 0);
    auto mapping = mappings_.upper_bound(first);
    assert(mapping != mappings_.begin());
    --mapping;
    const auto at = static_cast<uint64_t>(first - mapping->first);
    return !random_.one_in(4) && mapping->second->has_pages(at, bytes);
}

void SimulatedKernel::forget(std::byte* first, uint64_t bytes) {
    assert(bytes > 0);
    auto mapping = mappings_.upper_bound(first);
    assert(mapping != mappings_.begin());
}

}  // namespace blkscope::simulation
