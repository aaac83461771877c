#include "trace/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/decimal.hpp"
#include "base/json_string.hpp"
#include "trace/device_choice.hpp"
#include "trace/device_name.hpp"
#include "trace/file.hpp"
#include "trace/readers.hpp"
#include "trace/record.hpp"
#include "trace/table.hpp"

namespace blkscope::trace {
namespace {

constexpr std::string_view lost_key = "lost";
constexpr std::string_view realtime_key = "realtime_ns";
constexpr std::string_view device_column = "device";
constexpr size_t device_bytes_max = 64;
constexpr size_t devices_max = 4096;
constexpr size_t shown_max = 40;

std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

// As a message shows a value of the file.
std::string shown_value(std::string_view value) {
    return json_string(value.substr(0, shown_max)) + (value.size() > shown_max ? "..." : "");
}

// ---- Values ----

bool has_only(std::string_view text, std::string_view characters) {
    return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

// Why a text is no whole number, as people and spreadsheets get it wrong.
std::string why_no_number(std::string_view text) {
    constexpr std::string_view digits = "0123456789";
    if (text.empty()) return "there is no value";
    if (text.front() == '-' && has_only(text.substr(1), digits)) return "it is negative";
    if (has_only(text, digits)) return "it is too large";
    if (has_only(text, "0123456789.eE+-") && text.find_first_of("eE") != std::string_view::npos) {
        return "it is in scientific notation, which rounds; format the column as whole numbers";
    }
    if (has_only(text, "0123456789,")) return "it has a decimal comma, or commas between thousands";
    if (has_only(text, "0123456789.")) return "it has a fraction";
    return "it is no whole number";
}

// Programs whose missing values are no integers write each number of the column as "4096.0".
template <class Number>
std::string take_number(std::string_view text, Number& number) {
    if (text.ends_with(".0")) text.remove_suffix(2);
    const auto value = decimal<Number>(text);
    if (!value || text.starts_with('-')) return why_no_number(text);
    number = *value;
    return {};
}

// As spreadsheets, databases and programs for statistics write that there is no value.
bool is_missing(const std::string& value) {
    constexpr std::array<std::string_view, 8> words{"",    "-",    "na",   "n/a",
                                                    "nan", "null", "none", "\\n"};
    return std::ranges::find(words, lower(value)) != words.end();
}

// A value that the row may lack.
template <class Number>
std::string take_optional_number(const std::string& text, Number& number) {
    return is_missing(text) ? std::string() : take_number(text, number);
}

std::string take_op(const std::string& text, Op& op) {
    const auto found = op_named(lower(text));
    if (!found) return fmt::format("it is none of {}", fmt::join(op_names, ", "));
    op = *found;
    return {};
}

std::string take_flags(const std::string& text, uint8_t& flags) {
    std::string_view rest = text;
    while (!rest.empty()) {
        const size_t end = std::min(rest.find('|'), rest.size());
        const std::string word = lower(std::string(rest.substr(0, end)));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (word == "fua") {
            flags |= flag::fua;
        } else if (word == "no_hole") {
            flags |= flag::no_hole;
        } else if (word == "fast_zero") {
            flags |= flag::fast_zero;
        } else {
            return "it is none of fua, no_hole, fast_zero, or several of these with | between them";
        }
    }
    return {};
}

// A number behind a prefix, which may be missing.
std::string take_numbered(std::string_view prefix, std::string_view text, uint32_t& number) {
    std::string_view digits = text;
    if (digits.starts_with(prefix)) digits.remove_prefix(prefix.size());
    const auto value = decimal<uint32_t>(digits);
    if (!value) return fmt::format("it is not as {}3", prefix);
    number = *value;
    return {};
}

std::string take_client(std::string_view text, uint32_t& client) {
    if (text.empty() || text == "-") return {};
    if (text == "client-other") {
        client = shared_client;
        return {};
    }
    return take_numbered("client-", text, client);
}

// ---- Rows ----

// What reads the field of a column; why the value is wrong, or empty.
using Taker = std::string (*)(const std::string& value, Request& request);
struct Column {
    std::string_view name;
    Taker take;
};

template <auto Field>
std::string optional_number(const std::string& value, Request& request) {
    return take_optional_number(value, request.*Field);
}

constexpr std::array columns{
    Column{"op", [](const std::string& value, Request& to) { return take_op(value, to.op); }},
    Column{"flags",
           [](const std::string& value, Request& to) { return take_flags(value, to.flags); }},
    Column{"client",
           [](const std::string& value, Request& to) { return take_client(value, to.client); }},
    // A flush has no place.
    Column{"offset",
           [](const std::string& value, Request& to) { return take_number(value, to.offset); }},
    Column{"bytes",
           [](const std::string& value, Request& to) { return take_number(value, to.bytes); }},
    Column{"worker", optional_number<&Request::worker>},
    Column{"error", optional_number<&Request::error>},
    Column{"depth", optional_number<&Request::depth>},
    Column{"drawn_ns", optional_number<&Request::drawn_ns>},
    Column{"cookie", optional_number<&Request::cookie>},
    Column{"upstream_cookie", optional_number<&Request::upstream_cookie>},
    Column{"received_ns", optional_number<&Request::received>},
    Column{"queued_ns", optional_number<&Request::queued>},
    Column{"started_ns", optional_number<&Request::started>},
    Column{"finished_ns", optional_number<&Request::finished>},
    Column{"replied_ns", optional_number<&Request::replied>}};

void shift(Request& request, int64_t by) {
    for (const auto stamp : {&Request::received, &Request::queued, &Request::started,
                             &Request::finished, &Request::replied}) {
        if (request.*stamp > 0 && request.*stamp < INT64_MAX) request.*stamp += by;
    }
}

// As finished_us or "started (ms)", too: in another unit the time would be missing without a word.
bool names_a_time(std::string_view name) {
    constexpr std::array<std::string_view, 6> stems{"received", "queued",  "started",
                                                    "finished", "replied", "drawn"};
    return name.ends_with("_ns") || std::ranges::any_of(stems, [&](std::string_view stem) {
               return name.starts_with(stem);
           });
}

class CsvReader {
  public:
    CsvReader(std::string_view text, std::string_view device) : table_(text), wanted_(device) {
        trace_.requests.reserve(static_cast<size_t>(std::ranges::count(text, '\n')));
    }

    Result<Trace, std::string> read() {
        const auto head = table_.next();
        if (!head) return head.error();
        if (!*head) return std::string("line 1: no line with the names of the columns");
        if (std::string why = take_head(); !why.empty()) return at_row(why);
        for (;;) {
            const auto more = table_.next();
            if (!more) return more.error();
            if (!*more) break;
            std::string why = take_row();
            if (why.empty() && table_.is_unended() && !trace_.requests.empty()) {
                trace_.notes.push_back(fmt::format(
                    "line {}, the last one, has no end: it is taken as it is, and may be cut off",
                    table_.line()));
            }
            if (why.empty()) continue;
            if (!table_.is_unended() || trace_.requests.empty()) return at_row(why);
            trace_.notes.push_back(fmt::format("line {}, the last one, is cut off and left out: {}",
                                               table_.line(), why));
        }
        if (std::string why = leave_one_device(); !why.empty()) return why;
        sort_by_arrival(trace_.requests);
        return std::move(trace_);
    }

  private:
    [[nodiscard]] std::string at_row(std::string_view why) const {
        return fmt::format("line {}: {}", table_.line(), why);
    }

    std::string take_head() {
        for (const std::string& field : table_.fields()) names_.push_back(lower(field));
        for (const std::string& name : names_) {
            const auto* const known = std::ranges::find(columns, name, &Column::name);
            const bool is_known =
                known != columns.end() || name == facts_column || name == device_column;
            if (is_known && std::ranges::count(names_, name) > 1) {
                return fmt::format("two columns named {}", name);
            }
            // A stamp whose name is misspelt would be missing without a word.
            if (!is_known && names_a_time(name)) {
                return fmt::format(
                    "no column is named {}; the times are received_ns, queued_ns, "
                    "started_ns, finished_ns, replied_ns and drawn_ns",
                    shown_value(name));
            }
            takers_.push_back(known != columns.end() ? known->take : nullptr);
        }
        for (const char* needed : {"op", "offset", "bytes"}) {
            if (!has(needed)) return fmt::format("no column named {}", needed);
        }
        has_received_ = has("received_ns");
        if (!has_received_ && !has("queued_ns")) return "no column named received_ns or queued_ns";
        return {};
    }

    [[nodiscard]] bool has(std::string_view name) const {
        return std::ranges::find(names_, name) != names_.end();
    }

    std::string take_row() {
        auto fields = table_.fields();
        while (fields.size() > names_.size() && fields.back().empty()) {
            fields = fields.first(fields.size() - 1);  // a separator at the end of the line
        }
        if (fields.size() != names_.size()) {
            return fmt::format("{} values for {} columns{}", fields.size(), names_.size(),
                               table_.is_unended() ? "; the file may be cut off" : "");
        }
        if (is_head_again(fields)) return {};
        Request request;
        has_arrival_ = false;
        for (size_t i = 0; i < fields.size(); ++i) {
            if (std::string why = take_field(i, fields[i], request); !why.empty()) {
                return fmt::format("the {} is {}: {}", names_[i], shown_value(fields[i]), why);
            }
        }
        return add(request);
    }

    std::string take_field(size_t place, const std::string& value, Request& request) {
        if (names_[place] == facts_column) return take_facts_once(value);
        if (names_[place] == device_column) return take_device(value, request);
        if (takers_[place] == nullptr) return {};
        const bool is_arrival = names_[place] == "received_ns" || names_[place] == "queued_ns";
        if (is_arrival && !is_missing(value)) has_arrival_ = true;
        const bool is_place = names_[place] == "offset" || names_[place] == "bytes";
        if (is_place && value.empty() && is_flush()) return {};
        return takers_[place](value, request);
    }

    // Until the file is read, a request has the place of its device's name. "3" is short for nbd3.
    std::string take_device(const std::string& value, Request& request) {
        if (value.size() > device_bytes_max) return "it is too long for the name of a device";
        if (!may_have({{std::string(device_column), value}})) return "it has control characters";
        const bool is_number = decimal<uint32_t>(value).has_value();
        std::string name = is_number ? "nbd" + value : is_missing(value) ? std::string() : value;
        const auto found = std::ranges::find(devices_, name);
        request.device = static_cast<uint32_t>(found - devices_.begin());
        if (found == devices_.end()) {
            if (devices_.size() >= devices_max) return "the file has too many devices";
            devices_.push_back(std::move(name));
        }
        return {};
    }

    std::string leave_one_device() {
        DeviceChoice choice;
        std::vector<size_t> counts(devices_.size());
        for (const Request& each : trace_.requests) ++counts[each.device];
        for (size_t i = 0; i < counts.size(); ++i) {
            if (counts[i] > 0) choice.count(devices_[i], counts[i]);
        }
        if (std::string why = choice.choose(wanted_); !why.empty()) return why;
        const std::string& name = choice.chosen();
        std::erase_if(trace_.requests,
                      [&](const Request& each) { return devices_[each.device] != name; });
        const auto number = nbd_number(name);
        if (!number && !name.empty()) trace_.properties[std::string(device_column)] = name;
        for (Request& each : trace_.requests) each.device = number.value_or(0);
        return {};
    }

    // A flush has no place.
    [[nodiscard]] bool is_flush() const {
        const auto op = std::ranges::find(names_, "op") - names_.begin();
        return lower(table_.fields()[static_cast<size_t>(op)]) == name_of(Op::flush);
    }

    // Files that were joined have it again.
    [[nodiscard]] bool is_head_again(std::span<const std::string> fields) const {
        return std::ranges::equal(fields, names_, [](const auto& field, const auto& name) {
            return lower(field) == name;
        });
    }

    std::string take_facts_once(const std::string& text) {
        if (text.empty() || text == facts_) return {};
        if (!facts_.empty()) return "another row has other facts; the rows are of two traces";
        facts_ = text;
        return take_facts(text, trace_);
    }

    // A stamp of 0 is unknown, but an arrival is always known. So a clock that begins at 0 is moved.
    std::string add(Request request) {
        if (request.arrival() == 0 && !has_arrival_) return "there is no time of arrival";
        if (request.arrival() == 0 && clock_shift_ == 0) {
            clock_shift_ = 1;
            for (Request& each : trace_.requests) shift(each, clock_shift_);
        }
        shift(request, clock_shift_);
        if (request.arrival() == 0) {
            (has_received_ ? request.received : request.queued) = clock_shift_;
        }
        if (std::string why = why_impossible(request); !why.empty()) return why;
        trace_.requests.push_back(request);
        return {};
    }

    Table table_;
    const std::string wanted_;
    std::vector<std::string> devices_{""};  // the first is that of rows without one
    std::vector<std::string> names_;
    std::vector<Taker> takers_;
    bool has_received_ = false;
    bool has_arrival_ = false;  // of the row
    int64_t clock_shift_ = 0;
    std::string facts_;
    Trace trace_;
};

}  // namespace

std::string csv_field(const std::string& text) {
    if (text.find_first_of(",;\"\t\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += c;
        quoted += c;
    }
    return quoted + '"';
}

std::string facts_text(const Trace& trace) {
    std::map<std::string, std::string> facts = trace.properties;
    facts.emplace(lost_key, std::to_string(trace.lost));
    facts.emplace(realtime_key, std::to_string(trace.realtime_ns));
    std::string text;
    for (const auto& [key, value] : facts) {
        if (!text.empty()) text += ';';
        std::string fact = key;
        fact.append("=").append(value);
        for (const char c : fact) {
            if (c == ';' || c == '\\') text += '\\';
            text += c;
        }
    }
    return text;
}

std::string take_facts(std::string_view text, Trace& trace) {
    std::vector<std::string> facts(1);
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] == ';') {
            facts.emplace_back();
            continue;
        }
        if (text[i] == '\\' && i + 1 < text.size()) ++i;
        facts.back() += text[i];
    }
    for (const std::string& fact : facts) {
        const size_t equals = fact.find('=');
        if (equals == std::string::npos) return fmt::format("a fact is not key=value");
        const std::string key = fact.substr(0, equals);
        const std::string value = fact.substr(equals + 1);
        if (key == lost_key || key == realtime_key) {
            const bool is_lost = key == lost_key;
            const auto lost = decimal<uint64_t>(value);
            const auto realtime = decimal<int64_t>(value);
            if (is_lost ? !lost : !realtime) return fmt::format("{} is no whole number", key);
            if (is_lost) trace.lost = *lost;
            if (!is_lost) trace.realtime_ns = *realtime;
        } else if (!trace.properties.emplace(key, value).second) {
            return fmt::format("the fact {} is there twice", shown_value(key));
        }
    }
    if (!may_have(trace.properties)) return "a fact that no trace has";
    return {};
}

Result<Trace, std::string> from_csv(std::string_view text, std::string_view device) {
    return CsvReader(text, device).read();
}

}  // namespace blkscope::trace
