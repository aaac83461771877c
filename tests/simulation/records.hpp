// Records: the server's records of requests against what the clients saw of them.
//
//     client:  made ── sent ─────────────────────────────────── answered       the true time
//     record:          received ── queued ── started ── finished ── replied    the server's clocks
//
// Each answered request has one record, with its operation, range, flags and error. A record is not earlier than the
// request, and no request ends after its answer, as far as the clocks agree.
//
// Units:  bytes; nanoseconds.
// Errors: the text of the first difference; empty if there is none.
#pragma once

#include <sys/kstat.h>

#include <span>
#include <string>
#include <vector>

#include "driver/nbd/protocol.hpp"
#include "trace/request.hpp"

namespace blkscope::simulation {

/// A request that the protocol allows, and its answer.
struct Answer {
    nbd::Request request;
    nbd::Error error = nbd::Error::none;
    hrtime_t made = 0;
    hrtime_t answered = 0;
};

/// `wrong_ns_max`: how far the server's clocks may be from the true time.
std::string check_records(std::vector<Answer> answers, std::span<const trace::Request> records,
                          hrtime_t wrong_ns_max);

/// The error that the protocol document has for an errno of the storage.
nbd::Error documented_error(int error_number);

}  // namespace blkscope::simulation
