// Chains of kstats and the texts in them, for every program that reads them through libkstat.
#pragma once

#include <kstat.h>

#include <cstring>
#include <memory>
#include <string>

namespace blkscope::program {

struct CloseChain {
    void operator()(kstat_ctl_t* kc) const { kstat_close(kc); }
};

/// An open chain of kstats.
using Chain = std::unique_ptr<kstat_ctl_t, CloseChain>;

/// A string in a field of at most `room` bytes, of which the provider may have used all.
inline std::string bounded_text(const char* field, size_t room) {
    return {field, strnlen(field, room)};
}

template <size_t room>
std::string field_text(const char (&field)[room]) {
    return bounded_text(field, room);
}

/// The value of a STRING record, whose pointer is not null.
inline std::string string_text(const kstat_named_t& record) {
    return bounded_text(KSTAT_NAMED_STR_PTR(&record), KSTAT_NAMED_STR_BUFLEN(&record));
}

}  // namespace blkscope::program
