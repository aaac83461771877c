#include "trace/readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/decimal.hpp"
#include "base/json_string.hpp"
#include "base/text_encoding.hpp"
#include "trace/blktrace_event.hpp"
#include "trace/device_choice.hpp"
#include "trace/device_name.hpp"
#include "trace/file.hpp"
#include "trace/foreign.hpp"
#include "trace/record.hpp"
#include "trace/table.hpp"

namespace blkscope::trace {
namespace {

using Text = std::string_view;
using Failure = std::string;

// ---- Lines ----

// Takes the next line out of the text, without its end.
Text take_line(Text& text) {
    const size_t end = text.find('\n');
    Text line = text.substr(0, end);
    text.remove_prefix(end == Text::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

// The words of a line of fio, which reads them with scanf(3).
std::vector<Text> words_between_blanks(Text line) {
    constexpr Text blanks = " \t";
    std::vector<Text> words;
    for (;;) {
        line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
        if (line.empty()) return words;
        const size_t end = std::min(line.find_first_of(blanks), line.size());
        words.push_back(line.substr(0, end));
        line.remove_prefix(end);
    }
}

Failure at_line(size_t number, Text why) {
    return fmt::format("line {}: {}", number, why);
}

// ---- fio ----

constexpr Text fio2_head = "fio version 2 iolog";
constexpr Text fio3_head = "fio version 3 iolog";
constexpr Text unkept_action = "sync_file_range";  // fio writes it, and does not read it
constexpr size_t listed_files_max = 8;

std::optional<Op> op_of_fio(Text action) {
    if (action == "read") return Op::read;
    if (action == "write") return Op::write;
    if (action == "sync" || action == "datasync" || action == "syncfs") return Op::flush;
    if (action == "trim") return Op::trim;
    return {};
}

bool opens_file(Text action) {
    return action == "add" || action == "open" || action == "close";
}

class FioLog {
  public:
    FioLog(bool has_times, Text wanted) : has_times_(has_times), wanted_(wanted) {}

    /// The reason if the line is wrong. A line without words is none.
    Failure take(Text line, size_t number) {
        std::vector<Text> words = words_between_blanks(line);
        if (words.empty()) return {};
        // Also behind a line that a fio that was killed has not ended.
        if (line.find("fio version ") != Text::npos && words.back() == "iolog") {
            return "another log of fio begins here, which fio has added to the file; split the "
                   "file "
                   "in front of this line, and read one log";
        }
        if (has_times_) {
            const auto us = decimal<int64_t>(words.front());
            if (!us || *us < 0 || *us > INT64_MAX / 1000 - 1) return "no time in microseconds";
            go_to(*us * 1000, number);
            words.erase(words.begin());
        }
        if (words.size() < 2) return "no action";
        if (opens_file(words[1])) return {};
        const auto offset = decimal<uint64_t>(words.size() > 2 ? words[2] : Text());
        if (words[1] == "wait" && has_times_) {
            ++ignored_waits_;
            return {};
        }
        if (words[1] == "wait")
            return offset ? wait(offset.value_or(0), number) : "no time to wait for";
        const auto op = op_of_fio(words[1]);
        const auto bytes = decimal<uint64_t>(words.size() > 3 ? words[3] : Text());
        if (words[1] == unkept_action) {
            ++unkept_;
            return {};
        }
        if (!op) return fmt::format("an unknown action, {}", json_string(words[1].substr(0, 40)));
        if (*op != Op::flush && (!offset || !bytes)) return "no offset and length";
        const std::string file(words[0]);
        if (!files_.contains(file) && !may_have({{"device", file}})) {
            return "the file's name has control characters";
        }
        ++files_[file];
        if (file != chosen()) return {};
        Request request;
        request.device = nbd_number(file).value_or(0);
        request.op = *op;
        request.received = time_ns_;
        if (*op != Op::flush) request.offset = offset.value_or(0);
        if (*op != Op::flush) request.bytes = bytes.value_or(0);
        Failure why = why_impossible(request);
        if (why.empty()) trace.requests.push_back(request);
        return why;
    }

    /// The trace with what is to be said of it, or why there is none.
    Result<Trace, Failure> result() {
        if (wanted_.empty() && files_.size() > 1) {
            return fmt::format("has requests to several files: {}; name one with --device",
                               list_of_files());
        }
        if (!wanted_.empty() && trace.requests.empty()) {
            return fmt::format("the log has no request to the file {}{}", wanted_,
                               files_.empty() ? "" : ", but " + list_of_files());
        }
        if (ignored_waits_ > 0) {
            trace.notes.push_back(fmt::format(
                "{} line{} wait {} left out, as by fio: each line of version 3 has its time",
                ignored_waits_, ignored_waits_ == 1 ? "" : "s",
                ignored_waits_ == 1 ? "is" : "are"));
        }
        if (unkept_ > 0) {
            trace.notes.push_back(fmt::format(
                "{} line{} {} {} left out: no block device has such an operation", unkept_,
                unkept_ == 1 ? "" : "s", unkept_action, unkept_ == 1 ? "is" : "are"));
        }
        if (times_back_ > 0) {
            trace.notes.push_back(fmt::format(
                "the times of the log go back {}, first in line {}: {}",
                times_back_ == 1 ? "once" : fmt::format("{} times", times_back_), first_back_,
                has_times_
                    ? "the log goes on from there, as fio replays it"
                    : "fio's waits count from the start of the replay, so these take no time"));
        }
        if (!files_.empty()) trace.properties["device"] = chosen();
        return std::move(trace);
    }

    Trace trace;

  private:
    // As fio, which waits for the time since the line before, and not at all if the time goes back.
    void go_to(int64_t ns, size_t number) {
        if (ns < last_ns_) went_back(number);
        const int64_t gap = std::max<int64_t>(ns - last_ns_, 0);
        time_ns_ = std::min(time_ns_, INT64_MAX - gap) + gap;
        last_ns_ = ns;
    }
    Failure wait(uint64_t ms, size_t number) {
        if (ms > INT64_MAX / 1'000'000 - 1) return "too long to wait for";
        const int64_t until = static_cast<int64_t>(ms) * 1'000'000 + 1;
        if (until <= time_ns_ && time_ns_ > 1) went_back(number);
        time_ns_ = std::max(time_ns_, until);
        return {};
    }
    void went_back(size_t number) {
        if (times_back_++ == 0) first_back_ = number;
    }
    [[nodiscard]] const std::string& chosen() const {
        return wanted_.empty() ? files_.begin()->first : wanted_;
    }
    [[nodiscard]] std::string list_of_files() const {
        std::string list;
        size_t listed = 0;
        for (const auto& [file, count] : files_) {
            if (listed++ == listed_files_max) {
                return list + fmt::format(" and {} more", files_.size() - listed_files_max);
            }
            list += fmt::format("{}{} ({} request{})", list.empty() ? "" : ", ", file, count,
                                count == 1 ? "" : "s");
        }
        return list;
    }

    const bool has_times_;
    const std::string wanted_;
    int64_t time_ns_ = 1;  // a stamp of 0 is unknown
    int64_t last_ns_ = 0;  // of the line before
    size_t times_back_ = 0;
    size_t first_back_ = 0;
    size_t unkept_ = 0;
    size_t ignored_waits_ = 0;
    std::map<std::string, size_t, std::less<>> files_;
};

// Leaves the requests of one device: the named one, or the only one.
Result<Trace, Failure> of_one_device(Result<Trace, Failure> trace, Text named) {
    if (!trace) return trace;
    std::map<uint32_t, size_t> counts;
    for (const Request& each : trace->requests) ++counts[each.device];
    DeviceChoice choice;
    for (const auto& [device, count] : counts) choice.count(device_name(*trace, device), count);
    if (Failure why = choice.choose(named); !why.empty()) return why;
    std::erase_if(
        counts, [&](const auto& one) { return device_name(*trace, one.first) == choice.chosen(); });
    std::erase_if(trace->requests,
                  [&](const Request& each) { return counts.contains(each.device); });
    return trace;
}

// The first row may have any of the separators, and comments in front of it.
bool is_table(Text text) {
    Table table(text);
    const auto row = table.next();
    if (!row || !*row || table.fields().size() < 2) return false;
    return std::ranges::any_of(table.fields(), [](std::string name) {
        std::ranges::transform(name, name.begin(),
                               [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        return name == "op" || name == "offset" || name == "bytes" || name == "received_ns";
    });
}

Text text_in(std::span<const std::byte> file) {
    return {reinterpret_cast<const char*>(file.data()), file.size()};
}

bool is_of_blktrace(std::span<const std::byte> file) {
    uint32_t first = 0;
    if (file.size() < sizeof first) return false;
    std::memcpy(&first, file.data(), sizeof first);
    return first == blktrace::magic || first == blktrace::magic_swapped ||
           blktrace::other_version(first).has_value();
}

bool is_log_of_fio(Text text) {
    return text.starts_with("fio version ");
}

Result<Trace, Failure> decode_format(std::span<const std::byte> file, Text device) {
    const Text whole = text_in(file);
    if (whole.empty()) return Failure("empty");
    if (is_of_blktrace(file)) return from_blktrace({&file, 1}, device);
    const Text text = without_mark(whole);
    if (is_log_of_fio(text)) return from_fio(text, device);
    if (is_table(text)) return from_csv(text, device);
    if (is_our_file(file)) return of_one_device(decode_file(file), device);
    if (Failure kind = foreign_kind(whole); !kind.empty()) return kind;
    return of_one_device(decode_file(file), device);
}

// No figure of a time has these requests.
void note_unknown_times(Trace& trace) {
    const auto ends = std::ranges::count(trace.requests, false, &Request::has_total);
    const auto starts = std::ranges::count(trace.requests, 0, &Request::started);
    const size_t all = trace.requests.size();
    const auto note = [&](ptrdiff_t count, Text of_one, Text words) {
        if (count == 0) return;
        trace.notes.push_back(fmt::format("{} of {} request{} {}", count, all, all == 1 ? "" : "s",
                                          count == 1 ? of_one : words));
    };
    if (all == 0) trace.notes.emplace_back("the file has no requests");
    note(ends, "has no known end: no figure has how long it took",
         "have no known end: no figure has how long they took");
    note(starts, "has no known start: no figure has how long it waited and was served",
         "have no known start: no figure has how long they waited and were served");
}

}  // namespace

Result<Trace, std::string> from_fio(std::string_view text, std::string_view device) {
    const bool is_cut = !text.ends_with('\n');
    const std::string head =
        fmt::format("{}", fmt::join(words_between_blanks(take_line(text)), " "));
    if (head != fio2_head && head != fio3_head) return at_line(1, "no log of fio, version 2 or 3");
    FioLog log(head == fio3_head, device);
    size_t number = 2;
    for (; !text.empty(); ++number) {
        const Failure why = log.take(take_line(text), number);
        const bool may_be_cut = is_cut && text.empty();
        if (!why.empty() && !may_be_cut) return at_line(number, why);
        if (!may_be_cut) continue;
        log.trace.notes.push_back(
            why.empty()
                ? fmt::format("line {}, the last one, has no end: it is taken as it is, and "
                              "may be cut off",
                              number)
                : fmt::format("line {}, the last one, is cut off and left out: {}", number, why));
    }
    return log.result();
}

bool is_trace(std::span<const std::byte> file) {
    const Text text = without_mark(text_in(file));
    return is_our_file(file) || is_of_blktrace(file) || is_log_of_fio(text) || is_table(text);
}

Result<Trace, std::string> decode_blktrace(std::span<const std::span<const std::byte>> files,
                                           std::string_view device) {
    auto trace = from_blktrace(files, device);
    if (trace) note_unknown_times(*trace);
    return trace;
}

Result<Trace, std::string> decode_any(std::span<const std::byte> file, std::string_view device) {
    auto trace = decode_format(file, device);
    if (trace) note_unknown_times(*trace);
    return trace;
}

}  // namespace blkscope::trace
