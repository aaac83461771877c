#include "trace/kept.hpp"

#include <fmt/format.h>

namespace blkscope::trace {
namespace {

// Nobody has so long a request, and it would be millions of lines.
constexpr uint64_t bytes_max = uint64_t{1} << 44;

bool is_of_block_devices(const Request& request) {
    return request.op != Op::cache && request.op != Op::block_status;
}

bool is_without_bytes(const Request& request) {
    return request.bytes == 0 && request.op != Op::flush;
}

}  // namespace

bool is_kept_by_fio(const Request& request) {
    return is_kept_by_blktrace(request) &&
           (request.op == Op::flush || request.offset + request.bytes <= INT64_MAX);
}

bool is_kept_by_blktrace(const Request& request) {
    return is_of_block_devices(request) && !is_without_bytes(request) && request.bytes <= bytes_max;
}

Kept kept_by(std::string_view format, const Trace& trace) {
    const bool for_fio = format == "fio" || format == "fio3";
    if (!for_fio && format != "blktrace") return {.requests = trace.requests.size(), .lines = {}};
    const std::string program = for_fio ? "fio" : "blktrace";
    Kept kept;
    const auto count = [&](auto is_so, std::string_view words) {
        const auto found = std::ranges::count_if(trace.requests, is_so);
        if (found > 0) kept.lines.push_back(fmt::format("{} {}", found, words));
    };
    const auto is_kept = [&](const Request& each) {
        return for_fio ? is_kept_by_fio(each) : is_kept_by_blktrace(each);
    };
    kept.requests = static_cast<size_t>(std::ranges::count_if(trace.requests, is_kept));
    for (const Op op : {Op::cache, Op::block_status}) {
        count([&](const Request& each) { return each.op == op; },
              fmt::format("{} requests left out: {} has no such operation", name_of(op), program));
    }
    count([&](const Request& each) { return is_of_block_devices(each) && is_without_bytes(each); },
          "requests without bytes left out");
    count(
        [&](const Request& each) {
            return is_of_block_devices(each) && !is_without_bytes(each) && !is_kept(each);
        },
        "requests longer than 16 TiB or beyond 8 EiB left out");
    count([&](const Request& each) { return each.op == Op::write_zeroes && is_kept(each); },
          fmt::format("write_zeroes requests became writes: {} has no zeroes", program));
    count([&](const Request& each) { return is_kept(each) && each.bytes > piece_bytes_max; },
          fmt::format("requests longer than 1 GiB became several: {} has 32 bits for the length",
                      program));
    if (for_fio) {
        count([&](const Request& each) { return each.op == Op::trim && is_kept(each); },
              "trims are left out by fio before 3.34, which says bad ddir");
        count([&](const Request& each) { return is_kept(each) && (each.flags & flag::fua) != 0; },
              "requests lost their flag FUA: fio's logs have none");
    } else {
        count(
            [](const Request& each) { return is_kept_by_blktrace(each) && each.offset % 512 != 0; },
            "requests begin within a sector, and were widened to its beginning");
    }
    return kept;
}

}  // namespace blkscope::trace
