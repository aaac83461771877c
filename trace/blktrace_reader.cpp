#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "trace/blktrace_event.hpp"
#include "trace/byte_ranges.hpp"
#include "trace/device_choice.hpp"
#include "trace/file.hpp"
#include "trace/readers.hpp"

namespace blkscope::trace {
namespace {

namespace kernel = blktrace;

constexpr uint32_t cgroup_code = 1U << 8;  // the payload begins with the number of a control group
constexpr uint32_t requeued = 6;
constexpr uint32_t split = 13;
constexpr uint32_t last_code = 17;
constexpr uint32_t pc_bit = kernel::category(9);  // a command of the driver's own, such as SCSI's
constexpr uint32_t nbd_major_number = 43;
constexpr uint32_t minor_mask = 0xfffff;

uint32_t plain_code(const BlktraceEvent& event) {
    return kernel::code_of(event) & ~cgroup_code;
}

// ---- Events ----

void swap_bytes(BlktraceEvent& event) {
    const auto swap4 = [](uint32_t& field) { field = __builtin_bswap32(field); };
    for (uint32_t* field : {&event.magic, &event.sequence, &event.bytes, &event.action, &event.pid,
                            &event.device, &event.cpu}) {
        swap4(*field);
    }
    event.time = __builtin_bswap64(event.time);
    event.sector = __builtin_bswap64(event.sector);
    event.error = __builtin_bswap16(event.error);
    event.pdu_bytes = __builtin_bswap16(event.pdu_bytes);
}

// An event that is queued, issued and completed at one moment, on several processors, goes through its
// steps in their order.
int rank_of(const BlktraceEvent& event) {
    switch (plain_code(event)) {
        case kernel::queued:
            return 0;
        case kernel::inserted:
            return 1;
        case kernel::issued:
            return 2;
        default:
            return 3;
    }
}

struct Steps {
    std::vector<BlktraceEvent> events;
    size_t cut_bytes = 0;  // behind the last whole event
};

// blktrace was killed while it wrote, or the machine lost its power, which leaves zeroes. What is whole is
// taken.
bool is_cut_off(std::span<const std::byte> rest) {
    const auto is_zero = [](std::byte each) { return each == std::byte{0}; };
    if (std::ranges::all_of(rest, is_zero)) return true;
    BlktraceEvent event{};
    std::memcpy(&event, rest.data(), std::min(rest.size(), sizeof event));
    if (rest.size() < sizeof event.magic) return true;
    if (event.magic == kernel::magic_swapped) swap_bytes(event);
    if (event.magic != kernel::magic) return false;
    return rest.size() < sizeof event || rest.size() - sizeof event < event.pdu_bytes;
}

constexpr uint64_t last_sector = UINT64_MAX / kernel::sector_bytes - UINT32_MAX;

// The kernel writes where the rest of a split begins, the most significant byte first, behind the number
// of a control group if there is one.
uint64_t rest_of_split(const BlktraceEvent& event, std::span<const std::byte> payload) {
    uint64_t sector = 0;
    if (payload.size() < sizeof sector) return event.sector + event.bytes / kernel::sector_bytes;
    std::memcpy(&sector, payload.last(sizeof sector).data(), sizeof sector);
    return __builtin_bswap64(sector);
}

// Adds the events of a file that are steps of requests; why not, or empty. A notice has only the fields
// that it needs; in the others is what was in the kernel's buffer before. A flush has no sector, which
// older kernels write as -1.
std::string add_steps(std::span<const std::byte> file, Steps& steps) {
    uint32_t first = 0;
    std::memcpy(&first, file.data(), std::min(file.size(), sizeof first));
    if (const auto version = kernel::other_version(first)) {
        return fmt::format("a file of blktrace, version {}; only version 7 is read", *version);
    }
    for (auto rest = file; !rest.empty();) {
        const auto damaged = [&](std::string_view why) {
            return fmt::format("damaged at byte {}: {}", file.size() - rest.size(), why);
        };
        if (is_cut_off(rest)) {
            if (rest.size() == file.size()) return "cut off within an event of blktrace";
            steps.cut_bytes += rest.size();
            break;
        }
        BlktraceEvent event{};
        std::memcpy(&event, rest.data(), std::min(rest.size(), sizeof event));
        if (event.magic == kernel::magic_swapped) swap_bytes(event);
        if (event.magic != kernel::magic) return damaged("an event without its magic");
        if (event.time >= INT64_MAX) return damaged("an event with an impossible time");
        const auto payload = rest.subspan(sizeof event, event.pdu_bytes);
        const bool is_notice = (event.action & kernel::notify_bit) != 0;
        if (!is_notice && event.sector > last_sector) {
            if (event.bytes > 0) return damaged("an event beyond the last address");
            event.sector = 0;
        }
        if (plain_code(event) == split) event.sector = rest_of_split(event, payload);
        rest = rest.subspan(sizeof event + event.pdu_bytes);
        if (!is_notice) steps.events.push_back(event);
    }
    return {};
}

// In the order of time.
Result<Steps, std::string> steps_in(std::span<const std::span<const std::byte>> files) {
    Steps steps;
    for (const auto file : files) {
        if (std::string why = add_steps(file, steps); !why.empty()) return why;
    }
    std::ranges::stable_sort(steps.events, {}, [](const BlktraceEvent& event) {
        return std::tuple(event.time, rank_of(event), event.cpu, event.sequence);
    });
    return steps;
}

std::string name_of_device(uint32_t device) {
    return fmt::format("{}:{}", device >> 20, device & minor_mask);
}

bool is_step(uint32_t code) {
    return code == kernel::queued || code == kernel::inserted || code == kernel::issued ||
           code == kernel::completed || code == requeued;
}

// Leaves the events of one device: the named one, "8:16" or "8,16", or the only one. The reason if not.
// An event of a partition's trace that has only the disk's number is no step of a request.
std::string leave_one_device(std::vector<BlktraceEvent>& events, std::string_view named) {
    std::map<uint32_t, size_t> counts;
    for (const BlktraceEvent& event : events) {
        if (is_step(plain_code(event))) ++counts[event.device];
    }
    DeviceChoice choice;
    for (const auto& [device, count] : counts) choice.count(name_of_device(device), count);
    if (std::string why = choice.choose(named, "event"); !why.empty()) return why;
    if (choice.chosen().empty()) return {};
    std::erase_if(events, [&](const BlktraceEvent& event) {
        return name_of_device(event.device) != choice.chosen();
    });
    return {};
}

// A processor numbers the events of a trace, so a gap shows those that the kernel dropped. 0 is no number.
// The trace of a partition has events of its disk among its own.
size_t missing_events(const std::vector<BlktraceEvent>& events) {
    std::map<uint32_t, std::vector<uint32_t>> numbers;
    for (const BlktraceEvent& event : events) {
        if (event.sequence > 0) numbers[event.cpu].push_back(event.sequence);
    }
    size_t missing = 0;
    for (auto& [processor, seen] : numbers) {
        std::ranges::sort(seen);
        // clang 14 cannot read the range that std::ranges::unique() gives.
        const auto repeated = std::unique(seen.begin(), seen.end());
        const auto different = static_cast<size_t>(repeated - seen.begin());
        missing += size_t{seen[different - 1]} - seen.front() + 1 - different;
    }
    return missing;
}

// Leaves each event once. A file that was joined twice with the others has all of its events again, with
// the same numbers. 0 is no number.
size_t remove_repeated(std::vector<BlktraceEvent>& events) {
    const auto is_same = [](const BlktraceEvent& one, const BlktraceEvent& other) {
        return one.sequence > 0 && std::memcmp(&one, &other, sizeof one) == 0;
    };
    const size_t before = events.size();
    events.erase(std::unique(events.begin(), events.end(), is_same), events.end());
    return before - events.size();
}

// ---- Requests ----

// The requests of one device, from the events in the order of their time.
//
//     Q ─▶ queued_ ─ I ─▶ inserted_ ─ D ─▶ issued_ ─ C ─▶ finished
//                                ▲─────── R ─────┘
//
// The kernel merges and splits, so an event may be about the bytes of several requests, or of a part of
// one. A request has started with the first of its bytes, and ends with the last one.
class BlktraceRequests {
  public:
    /// `has_ends`: the trace has events C.
    explicit BlktraceRequests(bool has_ends) : has_ends_(has_ends) {}

    void take(const BlktraceEvent& event);
    [[nodiscard]] Trace result();
    [[nodiscard]] bool empty() const { return requests_.empty(); }

  private:
    using Piece = ByteRanges::Piece;
    struct Way {  // reads, writes and trims are never one request
        ByteRanges queued;
        ByteRanges inserted;
        ByteRanges issued;
    };

    Way& way_of(const BlktraceEvent& event);
    size_t add(const BlktraceEvent& event);
    void queue(const BlktraceEvent& event);
    [[nodiscard]] bool is_rest_of_split(const BlktraceEvent& event);
    void insert(const BlktraceEvent& event);
    void issue(const BlktraceEvent& event);
    void requeue(const BlktraceEvent& event);
    void complete(const BlktraceEvent& event);
    void finish(const Piece& piece, const BlktraceEvent& event);
    void take_flush(const BlktraceEvent& event);
    void end_without_bytes(const BlktraceEvent& event);
    void forget_confused();

    std::vector<Request> requests_;
    std::vector<uint64_t> left_;  // bytes that have not ended, by request
    std::array<Way, 3> ways_;
    std::vector<size_t> flushes_;              // that have not ended
    std::vector<size_t> settling_;             // without a write, whose last event may still come
    std::map<uint64_t, size_t> durable_ends_;  // of writes with a flush, by place
    std::set<size_t> flush_of_write_;          // requests that are the flush before a write
    std::set<size_t> durable_;                 // writes that a flush may follow
    std::map<uint32_t, uint64_t> split_at_;    // where the rest of a process' last split begins
    const bool has_ends_;
    bool has_queued_ = false;
    size_t unqueued_ = 0;
    size_t confused_ = 0;
    size_t ends_before_ = 0;
    size_t commands_ = 0;
    size_t empty_ = 0;
    size_t unknown_ = 0;
};

int64_t time_of(const BlktraceEvent& event) {
    return static_cast<int64_t>(event.time) + 1;  // a stamp of 0 is unknown
}

ByteRange range_of(const BlktraceEvent& event) {
    const uint64_t begin = event.sector * kernel::sector_bytes;
    return {begin, begin + event.bytes};
}

uint16_t error_of(const BlktraceEvent& event) {
    const auto error = static_cast<int16_t>(event.error);  // Linux writes a negative number
    return static_cast<uint16_t>(error < 0 ? -error : error);
}

bool has(const BlktraceEvent& event, uint32_t bit) {
    return (event.action & bit) != 0;
}

// Takes from one place, and what it lacks from the next one.
std::vector<ByteRanges::Piece> take_from(std::initializer_list<ByteRanges*> places,
                                         const ByteRange& wanted, std::vector<ByteRange>& lacking) {
    std::vector<ByteRanges::Piece> taken;
    lacking = {wanted};
    for (ByteRanges* const place : places) {
        for (const ByteRange& range : std::exchange(lacking, {})) {
            const auto some = place->take(range, lacking);
            taken.insert(taken.end(), some.begin(), some.end());
        }
    }
    return taken;
}

BlktraceRequests::Way& BlktraceRequests::way_of(const BlktraceEvent& event) {
    if (has(event, kernel::discard_bit)) return ways_[2];
    return ways_[has(event, kernel::write_bit) ? 1 : 0];
}

size_t BlktraceRequests::add(const BlktraceEvent& event) {
    Request request;
    request.device = event.device & minor_mask;
    request.client = event.pid;
    request.worker = static_cast<uint16_t>(event.cpu);
    request.op = has(event, kernel::write_bit) ? Op::write : Op::read;
    if (has(event, kernel::discard_bit)) request.op = Op::trim;
    if (has(event, kernel::fua_bit)) request.flags = flag::fua;
    request.offset = event.sector * kernel::sector_bytes;
    request.bytes = event.bytes;
    requests_.push_back(request);
    left_.push_back(event.bytes);
    return requests_.size() - 1;
}

// A write with PREFLUSH is a flush, and then a write.
void BlktraceRequests::queue(const BlktraceEvent& event) {
    has_queued_ = true;
    if (has(event, kernel::flush_bit)) {
        const size_t flush = add(event);
        requests_[flush].op = Op::flush;
        requests_[flush].offset = requests_[flush].bytes = 0;
        requests_[flush].received = time_of(event);
        flushes_.push_back(flush);
        if (event.bytes == 0) return;
        requests_[flush].flags = 0;
        flush_of_write_.insert(flush);
    } else if (event.bytes == 0) {
        ++empty_;
        return;
    }
    if (is_rest_of_split(event)) return;
    const size_t number = add(event);
    requests_[number].received = time_of(event);
    if (has(event, kernel::flush_bit | kernel::fua_bit)) durable_.insert(number);
    way_of(event).queued.add({range_of(event), number});
}

// Linux 4.3 to 4.11 queue the rest of a split again, which is no request of its own.
bool BlktraceRequests::is_rest_of_split(const BlktraceEvent& event) {
    const auto at = split_at_.find(event.pid);
    if (at == split_at_.end() || at->second != event.sector) return false;
    const auto holder = way_of(event).queued.holder_of(range_of(event));
    if (!holder) return false;
    const Request& request = requests_[*holder];
    const ByteRange range = range_of(event);
    return request.client == event.pid && request.offset < range.begin &&
           request.offset + request.bytes == range.end;
}

void BlktraceRequests::insert(const BlktraceEvent& event) {
    Way& way = way_of(event);
    std::vector<ByteRange> lacking;
    for (const Piece& piece : take_from({&way.queued}, range_of(event), lacking)) {
        Request& request = requests_[piece.request];
        if (request.queued == 0) request.queued = time_of(event);
        way.inserted.add(piece);
    }
}

// Bytes that are issued again were not really taken before, unless their C is of a kind that was not
// traced. Bytes that nobody queued are a request whose Q is not in the file.
void BlktraceRequests::issue(const BlktraceEvent& event) {
    Way& way = way_of(event);
    std::vector<ByteRange> lacking;
    for (const Piece& piece : take_from({&way.inserted, &way.queued}, range_of(event), lacking)) {
        Request& request = requests_[piece.request];
        if (request.started == 0) request.started = time_of(event);
        way.issued.add(piece);
    }
    const std::vector<ByteRange> again =
        has_ends_ ? std::exchange(lacking, {}) : std::vector<ByteRange>{};
    for (const ByteRange& range : again) {
        for (const Piece& piece : way.issued.take(range, lacking)) {
            requests_[piece.request].started = time_of(event);
            way.issued.add(piece);
        }
    }
    for (const ByteRange& range : lacking) {
        const size_t number = add(event);
        requests_[number].offset = range.begin;
        requests_[number].bytes = left_[number] = range.end - range.begin;
        requests_[number].started = time_of(event);
        way.issued.add({range, number});
        ++unqueued_;
    }
}

void BlktraceRequests::requeue(const BlktraceEvent& event) {
    Way& way = way_of(event);
    std::vector<ByteRange> lacking;
    for (const Piece& piece : take_from({&way.issued}, range_of(event), lacking)) {
        Request& request = requests_[piece.request];
        if (left_[piece.request] == request.bytes && request.arrival() < request.started) {
            request.started = 0;
        }
        way.inserted.add(piece);
    }
}

void BlktraceRequests::complete(const BlktraceEvent& event) {
    Way& way = way_of(event);
    std::vector<ByteRange> lacking;
    for (const Piece& piece :
         take_from({&way.issued, &way.inserted, &way.queued}, range_of(event), lacking)) {
        finish(piece, event);
    }
    if (!lacking.empty()) ++ends_before_;
}

void BlktraceRequests::finish(const Piece& piece, const BlktraceEvent& event) {
    Request& request = requests_[piece.request];
    uint64_t& left = left_[piece.request];
    left -= std::min(left, piece.range.end - piece.range.begin);
    if (error_of(event) != 0) request.error = error_of(event);
    if (left > 0) return;
    request.finished = time_of(event);
    if (durable_.erase(piece.request) > 0) durable_ends_[request.offset] = piece.request;
}

// The kernel's own flush is for all who wait. It has no event I, and is no write since Linux 4.8. A
// flush that a driver or a server sees is for one, of its process if that has any.
void BlktraceRequests::take_flush(const BlktraceEvent& event) {
    const int64_t time = time_of(event);
    const uint32_t code = plain_code(event);
    const bool is_for_one = has(event, kernel::write_bit) &&
                            (code == kernel::inserted || event.device >> 20 == nbd_major_number ||
                             std::ranges::any_of(flushes_, [&](size_t number) {
                                 return requests_[number].queued > 0;
                             }));
    const auto stamp = code == kernel::inserted ? &Request::queued
                       : code == kernel::issued ? &Request::started
                                                : &Request::finished;
    if (!has_queued_ && code == kernel::issued) {
        const size_t flush = add(event);
        requests_[flush].op = Op::flush;
        requests_[flush].offset = 0;
        flushes_.push_back(flush);
        ++unqueued_;
    }
    std::vector<size_t> waiting = flushes_;
    if (is_for_one) {
        std::stable_partition(waiting.begin(), waiting.end(),
                              [&](size_t number) { return requests_[number].client == event.pid; });
    }
    for (const size_t number : waiting) {
        Request& request = requests_[number];
        if (request.*stamp > 0) continue;
        const bool ends = code == kernel::completed;
        if (ends && !is_for_one && request.started == 0) continue;  // it came after the flush began
        request.*stamp = time;
        if (ends) {
            request.error = error_of(event);
            std::erase(flushes_, number);
            const bool is_of_write = flush_of_write_.erase(number) > 0;
            if (!is_of_write && !is_for_one) settling_.push_back(number);
        }
        if (is_for_one) return;
    }
}

// The last event of a flush, and of a write with one, has no bytes. That of a write has the write's place.
void BlktraceRequests::end_without_bytes(const BlktraceEvent& event) {
    const auto write = durable_ends_.find(event.sector * kernel::sector_bytes);
    const bool is_flush = !settling_.empty() && event.sector == 0;
    if (is_flush) {
        requests_[settling_.front()].finished = time_of(event);
        settling_.erase(settling_.begin());
    } else if (write != durable_ends_.end()) {
        requests_[write->second].finished = time_of(event);
        durable_ends_.erase(write);
    }
}

void BlktraceRequests::take(const BlktraceEvent& event) {
    const uint32_t code = plain_code(event);
    if (code == 0 || code > last_code) {
        ++unknown_;
        return;
    }
    if (has(event, pc_bit)) {
        ++commands_;
        return;
    }
    if (code == split) split_at_[event.pid] = event.sector;
    if (!is_step(code)) return;
    if (code == kernel::queued) return queue(event);
    if (event.bytes == 0) {
        if (has(event, kernel::flush_bit) && code != requeued) return take_flush(event);
        if (code == kernel::completed && has(event, kernel::write_bit)) end_without_bytes(event);
        return;
    }
    if (code == kernel::inserted) return insert(event);
    if (code == kernel::issued) return issue(event);
    if (code == requeued) return requeue(event);
    complete(event);
}

// Of requests for the same bytes at the same time, some of whose ends are not in the file, nobody knows
// which of them have ended.
void BlktraceRequests::forget_confused() {
    std::set<size_t> confused;
    for (const Way& way : ways_) {
        for (const size_t number : way.issued.confused()) {
            requests_[number].finished = 0;
            confused.insert(number);
        }
        for (const ByteRanges* waiting : {&way.queued, &way.inserted}) {
            for (const size_t number : waiting->confused()) {
                requests_[number].started = requests_[number].finished = 0;
                confused.insert(number);
            }
        }
    }
    confused_ = confused.size();
}

Trace BlktraceRequests::result() {
    forget_confused();
    Trace trace;
    const auto note = [&](size_t count, std::string_view of_one, std::string_view words) {
        if (count > 0)
            trace.notes.push_back(fmt::format("{} {}", count, count == 1 ? of_one : words));
    };
    note(unqueued_, "request has no event Q: it begins with its D",
         "requests have no event Q: they begin with their D");
    note(confused_,
         "request for the same bytes at the same time as another lacks some of its events: its end "
         "is unknown",
         "requests for the same bytes at the same time lack some of their events: their ends are "
         "unknown");
    note(ends_before_, "event C is of a request that is not in the file, and is left out",
         "events C are of requests that are not in the file, and are left out");
    note(commands_, "event is of a command that is no read or write, and is left out",
         "events are of commands that are no reads or writes, and are left out");
    note(empty_, "request without bytes is left out", "requests without bytes are left out");
    note(unknown_, "event is of an unknown kind, and is left out",
         "events are of unknown kinds, and are left out");
    trace.requests = std::move(requests_);
    sort_by_arrival(trace.requests);
    return trace;
}

}  // namespace

Result<Trace, std::string> from_blktrace(std::span<const std::span<const std::byte>> files,
                                         std::string_view device) {
    auto steps = steps_in(files);
    if (!steps) return steps.error();
    std::vector<BlktraceEvent>& events = steps->events;
    // Of several traces in one file, the numbers are not to be told apart.
    const size_t missing = device.empty() ? missing_events(events) : 0;
    const std::string why = leave_one_device(events, device);
    if (!why.empty()) return why;
    const size_t repeated = remove_repeated(events);
    const bool has_ends = std::ranges::any_of(
        events, [](const BlktraceEvent& event) { return plain_code(event) == kernel::completed; });
    BlktraceRequests requests(has_ends);
    for (const BlktraceEvent& event : events) requests.take(event);
    if (requests.empty() && !events.empty()) {
        return fmt::format("has {} events, but none of them is a Q or a D", events.size());
    }
    Trace trace = requests.result();
    if (missing > 0) {
        trace.notes.push_back(
            fmt::format("{} missing: the numbers of a processor's events have gaps",
                        missing == 1 ? "1 event is" : fmt::format("{} events are", missing)));
    }
    if (repeated > 0) {
        trace.notes.push_back(fmt::format(
            "{} in the file again, with the same number of the same processor: taken once",
            repeated == 1 ? "1 event is" : fmt::format("{} events are", repeated)));
    }
    if (steps->cut_bytes > 0) {
        trace.notes.push_back(fmt::format(
            "the file is cut off: its last {} bytes are no whole event, and are left out",
            steps->cut_bytes));
    }
    if (events.empty()) return trace;
    const uint32_t number = events.front().device;
    trace.properties["device"] = number >> 20 == nbd_major_number
                                     ? fmt::format("nbd{}", number & minor_mask)
                                     : name_of_device(number);
    return trace;
}

}  // namespace blkscope::trace
