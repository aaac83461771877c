#include "blockdev/backing/file_zeroing.hpp"

#include <fcntl.h>
#include <linux/falloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/throw_errno.hpp"
#include "base/zeroed_pages.hpp"
#include "blockdev/backing/unsupported.hpp"
#include "blockdev/ring/planted.hpp"

namespace blkscope {
namespace {

// The bytes of one write, if there is no better method.
constexpr uint64_t zeroes_bytes = uint64_t{1} << 20;

// Memory of zeroes, aligned as direct I/O needs. All of it is the kernel's single page of zeroes.
const void* zeroes() {
    static const ZeroedPages memory(zeroes_bytes);
    if (memory.start() == nullptr) throw_errno("reserve memory for zeroes");
    return memory.start();
}

}  // namespace

// A trim is a hint, so it may do less. Only whole blocks inside the range are trimmed, and nothing if the file system
// has no holes, or if the disk cannot discard.
std::optional<int32_t> FileZeroing::prepare_trim(Buf& buf) {
    assert(buf.op == Buf::Op::trim);
    assert(buf.step == Buf::Step::work);
    const uint64_t first = (buf.offset + is_.trim_bytes - 1) / is_.trim_bytes * is_.trim_bytes;
    const uint64_t end = (buf.offset + buf.bcount) / is_.trim_bytes * is_.trim_bytes;
    if (!holes_.can_trim || first >= end) return 0;
    assert(end <= is_.size_bytes);
    if (!is_.regular) {
        if (!discards_) discards_.emplace(is_.claimed < 0 ? is_.fd : is_.claimed, on_ring_.ring());
        discards_->start(buf, is_.trim_bytes);
        return std::nullopt;
    }
    const uint64_t bytes = end - first + (planted("trim-too-far") ? 512 : 0);
    return prepare_fallocate(buf, FALLOC_FL_PUNCH_HOLE, first, bytes);
}

std::optional<int32_t> FileZeroing::prepare_fallocate(Buf& buf, int mode, uint64_t at,
                                                      uint64_t bytes) {
    if (planted("fallocate-at-31-bits")) at &= INT32_MAX;
    const auto fill = [&](io_uring_sqe* entry, int fd) {
        io_uring_prep_fallocate(entry, fd, mode | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at),
                                static_cast<off_t>(bytes));
    };
    if (is_.claimed < 0) return on_ring_.prepare(buf, fill);
    on_ring_.ring().prepare(buf, [&](io_uring_sqe* entry) { fill(entry, is_.claimed); });
    return std::nullopt;
}

// Without fast_zero there is always a method. With fast_zero a method must cost no more than a
// write. A disk may write all the zeroes of a range that stays provisioned, so zero_range is not
// fast there.
FileZeroing::Method FileZeroing::method_for(const Buf& buf) const {
    const bool aligned = buf.offset % is_.trim_bytes == 0 && buf.bcount % is_.trim_bytes == 0;
    if (buf.fast_zero && !aligned) return Method::none;
    switch (Method{buf.zeroing_method}) {  // the first one that this request may try
        case Method::punch:
            if (holes_.can_punch && !buf.no_hole) return Method::punch;
            [[fallthrough]];
        case Method::zero_range:
            if (holes_.can_zero_range && (is_.regular || !buf.fast_zero)) return Method::zero_range;
            [[fallthrough]];
        case Method::write:
        case Method::none:
            break;
    }
    return buf.fast_zero ? Method::none : Method::write;
}

std::optional<int32_t> FileZeroing::prepare_zeroes(Buf& buf) {
    assert(buf.op == Buf::Op::write_zeroes);
    assert(buf.step == Buf::Step::work);
    if (buf.resid == 0) return 0;
    const uint64_t at = buf.offset + buf.moved();
    const uint64_t to_aligned = (is_.trim_bytes - at % is_.trim_bytes) % is_.trim_bytes;
    const Method method = method_for(buf);
    buf.zeroing_method = static_cast<uint8_t>(method);
    if (method == Method::none) return -EOPNOTSUPP;
    if (method != Method::write && to_aligned == 0 && buf.resid >= is_.trim_bytes) {
        return zero_blocks(buf,
                           method == Method::punch ? FALLOC_FL_PUNCH_HOLE : FALLOC_FL_ZERO_RANGE);
    }
    const bool edge = method != Method::write && to_aligned > 0;
    const uint64_t bytes = std::min({buf.resid, zeroes_bytes, edge ? to_aligned : zeroes_bytes});
    assert(bytes > 0);
    buf.covers = 0;  // the result says how many bytes were written
    return on_ring_.prepare(buf, [&](io_uring_sqe* entry, int fd) {
        io_uring_prep_write(entry, fd, zeroes(), static_cast<unsigned>(bytes), at);
    });
}

// Covers all whole blocks of the rest.
std::optional<int32_t> FileZeroing::zero_blocks(Buf& buf, int mode) {
    assert((buf.offset + buf.moved()) % is_.trim_bytes == 0);
    buf.covers = buf.resid / is_.trim_bytes * is_.trim_bytes;
    assert(buf.covers > 0);  // the file system would refuse an empty range
    return prepare_fallocate(buf, mode, buf.offset + buf.moved(), buf.covers);
}

// A trim that is not supported, or refused, succeeds without effect.
bool FileZeroing::more_of_trim(Buf& buf) {
    if (is_unsupported(buf.error)) holes_.can_trim = false;
    if (is_unsupported(buf.error) || is_refusal(buf.error)) {
        buf.error = 0;
        buf.resid = 0;
    } else {
        note_hole(buf);
    }
    return false;
}

// If the best method is not there, the next one is tried, now and in future. After a refusal, only now.
bool FileZeroing::more_of_zeroes(Buf& buf) {
    const Method method{buf.zeroing_method};
    const bool by_fallocate = method == Method::punch || method == Method::zero_range;
    if (by_fallocate && (is_unsupported(buf.error) || is_refusal(buf.error))) {
        if (is_unsupported(buf.error)) forget(method);
        buf.zeroing_method = static_cast<uint8_t>(method) + 1;
        buf.error = 0;
        return true;
    }
    note_hole(buf);
    return buf.error == 0 && ends_before(buf) && write_them(buf);
}

// For this request only. A fast zero must not cost as much as a write.
bool FileZeroing::write_them(Buf& buf) const {
    buf.error = buf.fast_zero ? EOPNOTSUPP : 0;
    buf.zeroing_method = static_cast<uint8_t>(Method::write);
    buf.resid = buf.bcount;
    return !buf.fast_zero;
}

// A file may have been shortened, or a disk may have shrunk. fallocate(2) succeeds without effect behind the end,
// and a read there fails. A write makes the file longer, or the disk refuses it.
bool FileZeroing::ends_before(const Buf& buf) const {
    if (buf.zeroing_method == static_cast<uint8_t>(Method::write)) return false;
    const int64_t bytes = on_ring_.ring().kernel().seek(is_.fd, 0, SEEK_END);
    return bytes >= 0 && static_cast<uint64_t>(bytes) < buf.offset + buf.moved();
}

// Also after an error: a part of the range may be a hole.
void FileZeroing::note_hole(const Buf& buf) {
    if (!is_.regular || !holes_.punched(buf.offset, buf.bcount)) return;
    const int64_t allocated = on_ring_.ring().kernel().allocated_bytes(is_.fd);
    if (allocated < 0) return holes_.found_many();
    holes_.measured(static_cast<uint64_t>(allocated));
}

void FileZeroing::forget(Method method) {
    (method == Method::punch ? holes_.can_punch : holes_.can_zero_range) = false;
}

}  // namespace blkscope
