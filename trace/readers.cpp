#include "trace/readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/decimal.hpp"
#include "trace/blktrace_event.hpp"
#include "trace/file.hpp"
#include "trace/record.hpp"

namespace blkscope::trace {
namespace {

using Text = std::string_view;
using Failure = std::string;

// ---- Words ----

std::vector<Text> words_of(Text line, char between) {
    std::vector<Text> words;
    for (;;) {
        const size_t end = line.find(between);
        words.push_back(line.substr(0, end));
        if (end == Text::npos) return words;
        line.remove_prefix(end + 1);
    }
}

// Takes the next line out of the text, without its end.
Text take_line(Text& text) {
    const size_t end = text.find('\n');
    Text line = text.substr(0, end);
    text.remove_prefix(end == Text::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

Failure at_line(size_t number, Text why) {
    return fmt::format("line {}: {}", number, why);
}

// ---- Requests ----

// Why the request cannot have been; empty if it can.
Failure why_impossible(const Request& request) {
    std::array<std::byte, record_bytes> bytes{};
    encode(request, bytes);
    const auto checked = decode(bytes);
    return checked ? Failure() : checked.error();
}

std::optional<uint8_t> flags_of(Text text) {
    uint8_t flags = 0;
    if (text.empty()) return flags;
    for (const Text word : words_of(text, '|')) {
        if (word == "fua") {
            flags |= flag::fua;
        } else if (word == "no_hole") {
            flags |= flag::no_hole;
        } else if (word == "fast_zero") {
            flags |= flag::fast_zero;
        } else {
            return {};
        }
    }
    return flags;
}

std::optional<uint32_t> client_of(Text text) {
    constexpr Text prefix = "client-";
    if (text == "-") return 0;
    if (text == "client-other") return shared_client;
    if (!text.starts_with(prefix)) return {};
    return decimal<uint32_t>(text.substr(prefix.size()));
}

std::optional<uint32_t> device_of(Text text) {
    constexpr Text prefix = "nbd";
    if (!text.starts_with(prefix)) return {};
    return decimal<uint32_t>(text.substr(prefix.size()));
}

// ---- CSV ----

template <class T>
bool set(T& field, std::optional<T> value) {
    if (value) field = *value;
    return value.has_value();
}

// Sets the field of a column. False if the value is wrong; an unknown column is ignored.
bool set_field(Request& request, Text column, Text value) {
    if (column == "op") return set(request.op, op_named(value));
    if (column == "flags") return set(request.flags, flags_of(value));
    if (column == "client") return set(request.client, client_of(value));
    if (column == "device") return set(request.device, device_of(value));
    if (column == "worker") return set(request.worker, decimal<uint16_t>(value));
    if (column == "error") return set(request.error, decimal<uint16_t>(value));
    if (column == "offset") return set(request.offset, decimal<uint64_t>(value));
    if (column == "bytes") return set(request.bytes, decimal<uint64_t>(value));
    if (column == "depth") return set(request.depth, decimal<uint32_t>(value));
    if (column == "drawn_ns") return set(request.drawn_ns, decimal<uint64_t>(value));
    if (column == "cookie") return set(request.cookie, decimal<uint64_t>(value));
    if (column == "upstream_cookie") return set(request.upstream_cookie, decimal<uint64_t>(value));
    if (column == "received_ns") return set(request.received, decimal<int64_t>(value));
    if (column == "queued_ns") return set(request.queued, decimal<int64_t>(value));
    if (column == "started_ns") return set(request.started, decimal<int64_t>(value));
    if (column == "finished_ns") return set(request.finished, decimal<int64_t>(value));
    if (column == "replied_ns") return set(request.replied, decimal<int64_t>(value));
    return true;
}

// ---- fio ----

constexpr Text fio2_head = "fio version 2 iolog";
constexpr Text fio3_head = "fio version 3 iolog";

std::optional<Op> op_of_fio(Text action) {
    if (action == "read") return Op::read;
    if (action == "write") return Op::write;
    if (action == "sync" || action == "datasync") return Op::flush;
    if (action == "trim") return Op::trim;
    return {};
}

bool opens_file(Text action) {
    return action == "add" || action == "open" || action == "close";
}

class FioLog {
  public:
    explicit FioLog(bool has_times) : has_times_(has_times) {}

    /// The reason if the line is wrong.
    Failure take(Text line) {
        std::vector<Text> words = words_of(line, ' ');
        if (has_times_) {
            const auto us = decimal<int64_t>(words.front());
            if (!us || *us < 0 || *us > INT64_MAX / 1000 - 1) return "no time in microseconds";
            time_ns_ = std::max(time_ns_, *us * 1000 + 1);
            words.erase(words.begin());
        }
        if (words.size() < 2) return "no action";
        if (opens_file(words[1])) return {};
        const auto offset = decimal<uint64_t>(words.size() > 2 ? words[2] : Text());
        if (words[1] == "wait") return offset ? wait(offset.value_or(0)) : "no time to wait for";
        const auto op = op_of_fio(words[1]);
        const auto bytes = decimal<uint64_t>(words.size() > 3 ? words[3] : Text());
        if (!op) return "an unknown action";
        if (*op != Op::flush && (!offset || !bytes)) return "no offset and length";
        if (file_.empty()) file_ = words[0];
        if (file_ != words[0]) return "the log has requests to a second file";
        Request request;
        request.op = *op;
        request.received = time_ns_;
        if (*op != Op::flush) request.offset = offset.value_or(0);
        if (*op != Op::flush) request.bytes = bytes.value_or(0);
        trace.requests.push_back(request);
        return why_impossible(trace.requests.back());
    }

    Trace trace;

  private:
    Failure wait(uint64_t ms) {
        if (ms > INT64_MAX / 1'000'000 - 1) return "too long to wait for";
        time_ns_ = std::max(time_ns_, static_cast<int64_t>(ms) * 1'000'000 + 1);
        return {};
    }

    const bool has_times_;
    int64_t time_ns_ = 1;  // a stamp of 0 is unknown
    std::string file_;
};

// ---- blktrace ----

// The requests of one place, in the order of their first events. A number for each kind of event is
// the next request that gets its stamp. So an event costs the same, however long the line is.
struct Line {
    std::vector<size_t> requests;
    size_t inserted = 0;
    size_t issued = 0;
    size_t completed = 0;
};
using Place = std::tuple<uint32_t, uint64_t, bool>;  // device, sector, whether it writes
using Lines = std::map<Place, Line>;

Place place_of(const BlktraceEvent& event) {
    return {event.device, event.sector, (event.action & blktrace::write_bit) != 0};
}

Request request_of(const BlktraceEvent& event) {
    Request request;
    request.received = static_cast<int64_t>(event.time) + 1;  // a stamp of 0 is unknown
    request.device = event.device & 0xfffff;
    request.client = event.pid;
    request.worker = static_cast<uint16_t>(event.cpu);
    request.op = (event.action & blktrace::write_bit) != 0 ? Op::write : Op::read;
    if ((event.action & blktrace::discard_bit) != 0) request.op = Op::trim;
    if ((event.action & blktrace::flush_bit) != 0 && event.bytes == 0) request.op = Op::flush;
    if (request.op != Op::flush) {
        request.offset = event.sector * blktrace::sector_bytes;
        request.bytes = event.bytes;
    }
    if ((event.action & blktrace::fua_bit) != 0) request.flags = flag::fua;
    return request;
}

// The first request of the place without the event's stamp has it.
void stamp(Line& line, std::vector<Request>& requests, const BlktraceEvent& event) {
    const auto time = static_cast<int64_t>(event.time) + 1;
    const auto next = [&](size_t& place) -> Request* {
        return place < line.requests.size() ? &requests[line.requests[place++]] : nullptr;
    };
    const uint32_t code = blktrace::code_of(event);
    if (code == blktrace::inserted) {
        if (Request* const request = next(line.inserted)) request->queued = time;
    } else if (code == blktrace::issued) {
        if (Request* const request = next(line.issued)) request->started = time;
    } else if (code == blktrace::completed) {
        Request* const request = next(line.completed);
        if (request == nullptr) return;
        request->finished = time;
        const auto error = static_cast<int16_t>(event.error);  // Linux writes a negative number
        request->error = static_cast<uint16_t>(error < 0 ? -error : error);
        line.inserted = std::max(line.inserted, line.completed);
        line.issued = std::max(line.issued, line.completed);
    }
}

// A request that the kernel queued again has later events before earlier ones.
void put_in_order(Request& request) {
    if (request.started > 0) request.started = std::max(request.started, request.queued);
    if (request.finished > 0) {
        request.finished = std::max({request.finished, request.queued, request.started});
    }
}

Result<std::vector<BlktraceEvent>, Failure> events_of(std::span<const std::byte> file) {
    std::vector<BlktraceEvent> events;
    while (!file.empty()) {
        BlktraceEvent event{};
        if (file.size() < sizeof event) return Failure("cut off within an event of blktrace");
        std::memcpy(&event, file.data(), sizeof event);
        if (event.magic != blktrace::magic) return Failure("damaged: an event without its magic");
        file = file.subspan(sizeof event);
        if (file.size() < event.pdu_bytes) return Failure("cut off within an event of blktrace");
        file = file.subspan(event.pdu_bytes);
        if (event.time >= INT64_MAX) return Failure("damaged: an event with an impossible time");
        if (event.sector > UINT64_MAX / blktrace::sector_bytes - UINT32_MAX) {
            return Failure("damaged: an event beyond the last address");
        }
        if ((event.action & blktrace::notify_bit) == 0) events.push_back(event);
    }
    std::stable_sort(events.begin(), events.end(),
                     [](const auto& a, const auto& b) { return a.time < b.time; });
    return events;
}

bool starts_with(std::span<const std::byte> file, Text text) {
    return file.size() >= text.size() && std::memcmp(file.data(), text.data(), text.size()) == 0;
}

Result<Trace, Failure> decode_format(std::span<const std::byte> file) {
    const Text text{reinterpret_cast<const char*>(file.data()), file.size()};
    uint32_t first = 0;
    if (file.size() >= sizeof first) std::memcpy(&first, file.data(), sizeof first);
    if (first == blktrace::magic) return from_blktrace(file);
    if (first == blktrace::magic_swapped) {
        return Failure("a file of blktrace with another byte order");
    }
    if (starts_with(file, "fio version ")) return from_fio(text);
    const Text head = text.substr(0, text.find('\n'));
    if (head.find("offset") != Text::npos && head.find(',') != Text::npos) return from_csv(text);
    return decode_file(file);
}

// No figure of a time has these requests.
void note_unknown_times(Trace& trace) {
    const auto ends = std::ranges::count(trace.requests, false, &Request::has_total);
    const auto starts = std::ranges::count(trace.requests, 0, &Request::started);
    const size_t all = trace.requests.size();
    if (ends > 0) {
        trace.notes.push_back(fmt::format(
            "{} of {} requests have no known end: no figure has how long they took", ends, all));
    }
    if (starts > 0) {
        trace.notes.push_back(fmt::format(
            "{} of {} requests have no known start: no figure has how long they waited and were "
            "served",
            starts, all));
    }
}

}  // namespace

Result<Trace, std::string> from_csv(std::string_view text) {
    const std::vector<Text> columns = words_of(take_line(text), ',');
    const auto has = [&](Text name) {
        return std::find(columns.begin(), columns.end(), name) != columns.end();
    };
    for (const char* needed : {"op", "offset", "bytes"}) {
        if (!has(needed)) return at_line(1, fmt::format("no column named {}", needed));
    }
    if (!has("received_ns") && !has("queued_ns")) {
        return at_line(1, "no column named received_ns or queued_ns");
    }
    Trace trace;
    for (size_t line = 2; !text.empty(); ++line) {
        const std::vector<Text> values = words_of(take_line(text), ',');
        if (values.size() != columns.size()) {
            return at_line(line,
                           fmt::format("{} values for {} columns", values.size(), columns.size()));
        }
        Request request;
        for (size_t i = 0; i < columns.size(); ++i) {
            if (set_field(request, columns[i], values[i])) continue;
            return at_line(line, fmt::format("a wrong value in the column {}", i + 1));
        }
        const Failure why = why_impossible(request);
        if (!why.empty()) return at_line(line, why);
        trace.requests.push_back(request);
    }
    sort_by_arrival(trace.requests);
    return trace;
}

Result<Trace, std::string> from_fio(std::string_view text) {
    const Text head = take_line(text);
    if (head != fio2_head && head != fio3_head) return at_line(1, "no log of fio, version 2 or 3");
    FioLog log(head == fio3_head);
    for (size_t line = 2; !text.empty(); ++line) {
        const Failure why = log.take(take_line(text));
        if (!why.empty()) return at_line(line, why);
    }
    return std::move(log.trace);
}

Result<Trace, std::string> from_blktrace(std::span<const std::byte> file) {
    const auto events = events_of(file);
    if (!events) return events.error();
    const bool has_queued = std::any_of(events->begin(), events->end(), [](const auto& event) {
        return blktrace::code_of(event) == blktrace::queued;
    });
    const uint32_t first = has_queued ? blktrace::queued : blktrace::issued;
    Trace trace;
    Lines lines;
    for (const BlktraceEvent& event : *events) {
        if (blktrace::code_of(event) == first) {
            lines[place_of(event)].requests.push_back(trace.requests.size());
            trace.requests.push_back(request_of(event));
        } else if (const auto line = lines.find(place_of(event)); line != lines.end()) {
            stamp(line->second, trace.requests, event);
        }
    }
    for (Request& request : trace.requests) {
        put_in_order(request);
        const Failure why = why_impossible(request);
        if (!why.empty()) return why;
    }
    sort_by_arrival(trace.requests);
    return trace;
}

Result<Trace, std::string> decode_any(std::span<const std::byte> file) {
    auto trace = decode_format(file);
    if (trace) note_unknown_times(*trace);
    return trace;
}

}  // namespace blkscope::trace
