#include "trace/record.hpp"

#include <algorithm>

namespace blkscope::trace {
namespace {

constexpr size_t reserved_at = 82;
constexpr size_t reserved_bytes = 6;

}  // namespace

// Why the request cannot have been recorded; empty if it can.
std::string why_impossible(const Request& request) {
    if (request.arrival() <= 0) return "a request without a time of arrival";
    int64_t before = 0;
    for (const int64_t stamp :
         {request.received, request.queued, request.started, request.finished, request.replied}) {
        if (stamp == 0) continue;
        if (stamp < before) return "the times of a request run backwards";
        before = stamp;
    }
    if (request.offset + request.bytes < request.offset) return "a request beyond the last address";
    return {};
}

void encode(const Request& request, std::span<std::byte, record_bytes> to) {
    std::byte* const at = to.data();
    put(at, request.received);
    put(at + 8, request.queued);
    put(at + 16, request.started);
    put(at + 24, request.finished);
    put(at + 32, request.replied);
    put(at + 40, request.drawn_ns);
    put(at + 48, request.offset);
    put(at + 56, request.bytes);
    put(at + 64, request.device);
    put(at + 68, request.client);
    put(at + 72, request.depth);
    put(at + 76, request.worker);
    put(at + 78, request.error);
    put(at + 80, static_cast<uint8_t>(request.op));
    put(at + 81, request.flags);
    std::ranges::fill(to.subspan(reserved_at, reserved_bytes), std::byte{0});
    put(at + 88, request.cookie);
    put(at + 96, request.upstream_cookie);
}

Result<Request, std::string> decode(std::span<const std::byte, record_bytes> from) {
    const std::byte* const at = from.data();
    const auto op = get<uint8_t>(at + 80);
    if (op > static_cast<uint8_t>(last_op)) return std::string("an unknown operation");
    const bool zero = std::ranges::all_of(from.subspan(reserved_at, reserved_bytes),
                                          [](std::byte each) { return each == std::byte{0}; });
    if (!zero) return std::string("bytes that must be 0 are not");
    const Request request{.received = get<int64_t>(at),
                          .queued = get<int64_t>(at + 8),
                          .started = get<int64_t>(at + 16),
                          .finished = get<int64_t>(at + 24),
                          .replied = get<int64_t>(at + 32),
                          .drawn_ns = get<uint64_t>(at + 40),
                          .offset = get<uint64_t>(at + 48),
                          .bytes = get<uint64_t>(at + 56),
                          .cookie = get<uint64_t>(at + 88),
                          .upstream_cookie = get<uint64_t>(at + 96),
                          .device = get<uint32_t>(at + 64),
                          .client = get<uint32_t>(at + 68),
                          .depth = get<uint32_t>(at + 72),
                          .worker = get<uint16_t>(at + 76),
                          .error = get<uint16_t>(at + 78),
                          .op = static_cast<Op>(op),
                          .flags = get<uint8_t>(at + 81)};
    if ((request.flags & ~flag::all) != 0) return std::string("an unknown flag");
    std::string why = why_impossible(request);
    if (!why.empty()) return why;
    return request;
}

}  // namespace blkscope::trace
