#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <vector>

#include "base/decimal.hpp"
#include "trace/blktrace_event.hpp"
#include "trace/device_name.hpp"
#include "trace/formats.hpp"
#include "trace/kept.hpp"

namespace blkscope::trace {
namespace {

using blktrace::discard_bit;
using blktrace::flush_bit;
using blktrace::fua_bit;
using blktrace::notify_bit;
using blktrace::read_bit;
using blktrace::sector_bytes;
using blktrace::write_bit;
using Event = BlktraceEvent;

constexpr uint32_t nbd_major = 43;
constexpr size_t comm_bytes = 16;

constexpr uint32_t queued_event = blktrace::queued | blktrace::queue_bit;
constexpr uint32_t got_event = blktrace::got | blktrace::queue_bit;
constexpr uint32_t inserted_event = blktrace::inserted | blktrace::queue_bit;
constexpr uint32_t issued_event = blktrace::issued | blktrace::issue_bit;
constexpr uint32_t completed_event = blktrace::completed | blktrace::complete_bit;

uint32_t kind_of(const Request& request) {
    const uint32_t stable = (request.flags & flag::fua) != 0 ? fua_bit : 0;
    switch (request.op) {
        case Op::read:
            return read_bit;
        case Op::write:
        case Op::write_zeroes:
            return write_bit | stable;
        case Op::flush:
            return write_bit | flush_bit;
        case Op::trim:
            return write_bit | discard_bit | stable;
        case Op::cache:
        case Op::block_status:
            break;
    }
    return 0;
}

// Of a trace that was blktrace's, the number is that of its own disk: "8:16".
uint32_t number_of_device(const Trace& trace, const Request& request) {
    const std::string name = device_name(trace, request.device);
    const size_t colon = name.find(':');
    const auto major = decimal<uint32_t>(std::string_view(name).substr(0, colon));
    const auto minor = colon == std::string::npos
                           ? std::nullopt
                           : decimal<uint32_t>(std::string_view(name).substr(colon + 1));
    if (!major || !minor || *major >> 12 != 0 || *minor >> 20 != 0) {
        return (nbd_major << 20) | request.device;
    }
    return (*major << 20) | *minor;
}

void add_events(const Request& request, uint32_t device, std::vector<Event>& events) {
    const uint32_t kind = kind_of(request);
    if (kind == 0) return;
    Event event{.magic = blktrace::magic,
                .sequence = 0,
                .time = 0,
                .sector = request.offset / sector_bytes,
                .bytes = static_cast<uint32_t>(request.bytes + request.offset % sector_bytes),
                .action = 0,
                .pid = request.client,
                .device = device,
                .cpu = request.worker,
                .error = 0,
                .pdu_bytes = 0};
    const auto add = [&](uint32_t action, int64_t time) {
        if (time == 0) return;  // unknown
        event.action = action | kind;
        event.time = static_cast<uint64_t>(time);
        events.push_back(event);
    };
    add(queued_event, request.entered() > 0 ? request.arrival() : 0);
    add(got_event, request.entered() > 0 ? request.arrival() : 0);
    add(inserted_event, request.queued);
    add(issued_event, request.started);
    event.error = request.error;
    add(completed_event, request.finished);
}

void append(std::string& file, const Event& event) {
    file.append(reinterpret_cast<const char*>(&event), sizeof event);
}

// A name for each client's number, which stands in the place of a process.
void append_names(std::string& file, const std::vector<Event>& events) {
    std::set<uint32_t> named;
    for (const Event& event : events) {
        if (!named.insert(event.pid).second) continue;
        Event notice = event;
        notice.sequence = 0;  // as the kernel leaves it
        notice.time = events.front().time;
        notice.sector = notice.bytes = 0;
        notice.action = notify_bit;
        notice.error = 0;
        notice.pdu_bytes = comm_bytes;
        append(file, notice);
        Request request;
        request.client = event.pid;
        std::array<char, comm_bytes> comm{};
        const std::string name = client_text(request);
        std::copy_n(name.begin(), std::min(name.size(), comm_bytes - 1), comm.begin());
        file.append(comm.data(), comm.size());
    }
}

}  // namespace

std::map<uint16_t, std::string> to_blktrace(const Trace& trace) {
    std::map<uint16_t, std::vector<Event>> events;
    for (const Request& request : trace.requests) {
        if (!is_kept_by_blktrace(request)) continue;
        const uint32_t device = number_of_device(trace, request);
        for_each_piece(request, [&](const Request& piece) {
            add_events(piece, device, events[piece.worker]);
        });
    }
    std::map<uint16_t, std::string> files;
    for (auto& [worker, of_worker] : events) {
        if (of_worker.empty()) continue;
        std::stable_sort(of_worker.begin(), of_worker.end(),
                         [](const Event& a, const Event& b) { return a.time < b.time; });
        std::string& file = files[worker];
        append_names(file, of_worker);
        uint32_t sequence = 0;
        for (Event& event : of_worker) {
            event.sequence = ++sequence;
            append(file, event);
        }
    }
    return files;
}

}  // namespace blkscope::trace
