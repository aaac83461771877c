// Readers: a trace from the files of other programs, and from our own.
//
// A file of others has less than ours: a stamp that it lacks is 0, unknown. What else it lacks is in
// the trace's notes, with its count. Each request obeys the rules of record.hpp.
//
// Units:     as each format has them.
// Ownership: borrows the bytes for the call.
// Threads:   any; pure functions.
// Errors:    one line that says what is wrong, and in which line of a text. Never a part of the trace, unless
//            the file only ends too early: then a note says what is left out.
// Source:    blktrace_api.h of Linux; fio(1), "Trace file format v2"; iolog.c of fio 3.33. The waits
//            of version 2 are milliseconds since the start there.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "trace/request.hpp"

namespace blkscope::trace {

/// A file of any format below, or of our own. Its first bytes say which. The notes also say how many
/// requests lack a start or an end.
[[nodiscard]] Result<Trace, std::string> decode_any(std::span<const std::byte> file,
                                                    std::string_view device = {});

/// Whether the file begins as one of these.
[[nodiscard]] bool is_trace(std::span<const std::byte> file);

/// Lines below a line of names, as to_csv() has them. Needed are op, offset, bytes and received_ns
/// or queued_ns. `device` is needed if the column of that name has several.
[[nodiscard]] Result<Trace, std::string> from_csv(std::string_view text,
                                                  std::string_view device = {});

/// A log of fio, version 2 or 3, of one file, which `device` names if there are several. A sync is a flush.
[[nodiscard]] Result<Trace, std::string> from_fio(std::string_view text,
                                                  std::string_view device = {});

/// Events of blktrace, version 7: the files of its processors in any order, also one behind the other in one
/// file, or what `blkparse -d` has merged. `device` is needed if there are several, as "8:16". Each event Q is
/// a request; bytes without one are a request from their D on. The events I, D and C have its stamps, also
/// where the kernel has merged or split. A write with PREFLUSH is a flush and a write. The notes also say how
/// many requests lack a start or an end.
[[nodiscard]] Result<Trace, std::string> decode_blktrace(
    std::span<const std::span<const std::byte>> files, std::string_view device = {});

/// The same without these notes.
[[nodiscard]] Result<Trace, std::string> from_blktrace(
    std::span<const std::span<const std::byte>> files, std::string_view device = {});

}  // namespace blkscope::trace
