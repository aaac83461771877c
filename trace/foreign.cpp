#include "trace/foreign.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <vector>

#include "base/text_encoding.hpp"

namespace blkscope::trace {
namespace {

using Text = std::string_view;
using namespace std::string_view_literals;

constexpr size_t looked_at_bytes = size_t{64} << 10;
constexpr size_t looked_at_lines = 64;
constexpr size_t page_bytes = size_t{1} << 20;  // the data of a page are behind its style

struct Kind {
    Text sign;
    Text what;
};

Text first_of(Text text, std::span<const Kind> kinds, bool (*has)(Text, Text)) {
    const auto found =
        std::ranges::find_if(kinds, [&](const Kind& kind) { return has(text, kind.sign); });
    return found == kinds.end() ? Text() : found->what;
}

bool begins_with(Text text, Text sign) {
    return text.starts_with(sign);
}

bool contains(Text text, Text sign) {
    return text.find(sign) != Text::npos;
}

// ---- Files that are no texts ----

constexpr Text capture =
    "a capture of a network; it has no requests of a disk: record them with 'blkscope trace'";
constexpr Text kernel_trace =
    "perf's or ftrace's; blktrace and 'blkparse -d' write what is read here";

constexpr std::array binaries{
    Kind{"\x1f\x8b"sv, "compressed with gzip; unpack it first"},
    Kind{"\x28\xb5\x2f\xfd"sv, "compressed with zstd; unpack it first"},
    Kind{"\xfd\x37zXZ\0"sv, "compressed with xz; unpack it first"},
    Kind{"BZh"sv, "compressed with bzip2; unpack it first"},
    Kind{"\x04\x22\x4d\x18"sv, "compressed with lz4; unpack it first"},
    Kind{"7z\xbc\xaf\x27\x1c"sv, "an archive of 7-Zip; unpack it first"},
    Kind{"PK\x03\x04"sv, "a zip or a spreadsheet; save the table as csv"},
    Kind{"\xd0\xcf\x11\xe0"sv, "a spreadsheet; save the table as csv"},
    Kind{"\xd4\xc3\xb2\xa1"sv, capture},
    Kind{"\xa1\xb2\xc3\xd4"sv, capture},
    Kind{"\x4d\x3c\xb2\xa1"sv, capture},
    Kind{"\xa1\xb2\x3c\x4d"sv, capture},
    Kind{"\x0a\x0d\x0d\x0a"sv, capture},
    Kind{"PERFILE2"sv, kernel_trace},
    Kind{"\x17\x08\x44tracing"sv, kernel_trace},
    Kind{"PAR1"sv, "a table of Parquet; save it as csv"},
    Kind{"SQLite format 3\0"sv, "a database of SQLite; save the table as csv"},
    Kind{"\x7f\x45LF"sv, "a program"}};

// ---- JSON and HTML ----

// A comparison has reports inside.
constexpr std::array own_data{
    Kind{"blkscope.comparison/1",
         "a comparison of 'blkscope report --compare', which has sums and no requests; a browser "
         "shows it"},
    Kind{"blkscope.report/1",
         "a report of 'blkscope report', which has sums and no requests; a browser shows it, and "
         "'blkscope report --compare' reads it"},
    Kind{"blkscope.check/1", "the verdicts of 'blkscope check --json', which have no requests"},
    Kind{"blkscope.predict/1", "a prediction of 'blkscope predict --json', which has no requests"},
    Kind{"blkscope.trace/", "a trace as JSON, which is written only; save it as csv or ours"},
    Kind{"blockdev.iostat/1",
         "a report of iostat -j or of 'blkscope check --save', which has sums and no requests; "
         "'blkscope check --since' reads it, and '--model read=empirical:FILE' if it has "
         "histograms"}};

// "[global]" is of another kind.
bool begins_json(Text text) {
    if (text.empty() || (text[0] != '{' && text[0] != '[')) return false;
    const size_t next = text.find_first_not_of(" \t\r\n", 1);
    return next == Text::npos || Text("{}[]\"-0123456789").find(text[next]) != Text::npos;
}

Text json_or_html_kind(Text text) {
    std::string begin(text.substr(0, 16));
    std::ranges::transform(begin, begin.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const bool is_html = begin.starts_with("<!doctype html") || begin.starts_with("<html");
    const bool is_json = begins_json(text);
    if (is_html || is_json) {
        const Text own = first_of(text.substr(0, page_bytes), own_data, contains);
        if (!own.empty()) return own;
    }
    if (is_html) return "a page of HTML";
    if (contains(text.substr(0, looked_at_bytes), "\"fio version\"")) {
        return "fio's report as JSON, which has sums and no requests; fio --write_iolog=FILE "
               "writes "
               "the requests, and '--model read=empirical:FILE' reads the output of json+";
    }
    if (is_json && contains(text.substr(0, looked_at_bytes), "\"sysstat\"")) {
        return "a report of sysstat as JSON, which has sums and no requests";
    }
    if (is_json && contains(text.substr(0, looked_at_bytes), "\"ph\"")) {
        return "a trace for Perfetto, which is written only; save it as csv or ours";
    }
    return is_json ? "a text of JSON, but none that blkscope knows" : "";
}

// ---- Lines ----

std::vector<Text> lines_of(Text text) {
    std::vector<Text> lines;
    text = text.substr(0, looked_at_bytes);
    while (!text.empty() && lines.size() < looked_at_lines) {
        const size_t end = std::min(text.find('\n'), text.size());
        Text line = text.substr(0, end);
        if (line.ends_with('\r')) line.remove_suffix(1);
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        if (!line.empty()) lines.push_back(line);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::vector<Text> words_of(Text line) {
    std::vector<Text> words;
    while (!line.empty()) {
        const size_t end = std::min(line.find_first_of(" \t"), line.size());
        if (end > 0) words.push_back(line.substr(0, end));
        line.remove_prefix(std::min(end + 1, line.size()));
    }
    return words;
}

bool consists_of(Text text, Text characters) {
    return !text.empty() && text.find_first_not_of(characters) == Text::npos;
}

constexpr Text digits = "0123456789";

// "8,16   3        1     0.000000000   697  G   W 223490 + 8 [kjournald]"
bool is_line_of_blkparse(Text line) {
    const std::vector<Text> words = words_of(line);
    if (words.size() < 6) return false;
    const size_t comma = words[0].find(',');
    return comma != Text::npos && consists_of(words[0].substr(0, comma), digits) &&
           consists_of(words[0].substr(comma + 1), digits) && consists_of(words[1], digits) &&
           consists_of(words[2], digits) && contains(words[3], ".") &&
           consists_of(words[3], "0123456789.") && consists_of(words[4], digits) &&
           words[5].size() <= 2;
}

// "[global]", and an assignment or another section below it.
bool is_job_file(const std::vector<Text>& lines) {
    const auto has_fact = [](Text line) { return line[0] != '#' && line[0] != ';'; };
    const auto first = std::ranges::find_if(lines, has_fact);
    if (first == lines.end() || !first->starts_with('[') || !first->ends_with(']')) return false;
    constexpr std::array keys{"rw", "readwrite", "ioengine", "filename", "bs", "size", "iodepth"};
    return std::ranges::any_of(lines, [&](Text line) {
        return std::ranges::any_of(keys, [&](Text key) {
            if (!line.starts_with(key)) return false;
            line.remove_prefix(key.size());
            line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
            return line.starts_with('=');
        });
    });
}

// "3;fio-3.33;job;0;0;..."
bool is_terse(Text line) {
    const size_t end = line.find(';');
    return end != Text::npos && consists_of(line.substr(0, end), digits) &&
           line.substr(end + 1).starts_with("fio-");
}

// "12 /dev/sda read 0 4096", or the same without the time.
bool is_line_of_fios_log(Text line) {
    std::vector<Text> words = words_of(line);
    if (!words.empty() && consists_of(words[0], digits)) words.erase(words.begin());
    if (words.size() < 2) return false;
    constexpr std::array<Text, 8> actions{"add",   "open", "close",    "read",
                                          "write", "sync", "datasync", "trim"};
    return std::ranges::find(actions, words[1]) != actions.end();
}

// "12, 345678, 0, 4096, 0": four to six whole numbers.
bool is_line_of_fios_figures(Text line) {
    const auto commas = std::ranges::count(line, ',');
    return commas >= 3 && commas <= 6 && consists_of(line, "0123456789, x") &&
           std::isdigit(static_cast<unsigned char>(line.front())) != 0;
}

Text text_kind(Text text) {
    const std::vector<Text> lines = lines_of(text);
    if (lines.empty()) return {};
    const auto any = [&](auto is_so) { return std::ranges::any_of(lines, is_so); };
    if (any(is_line_of_blkparse)) {
        return "the text of blkparse; the binary files of blktrace are read, those of "
               "NAME.blktrace.N by NAME, and what 'blkparse -d FILE' writes";
    }
    if (is_job_file(lines)) {
        return "a job file of fio, which says what to do; fio --write_iolog=FILE writes the "
               "requests";
    }
    if (is_terse(lines.front())) {
        return "fio's terse output, which has sums and no requests; fio --write_iolog=FILE writes "
               "the requests";
    }
    if (any([](Text line) { return contains(line, ": (g=") && contains(line, "rw="); })) {
        return "the text that fio prints, which has sums and no requests; fio --write_iolog=FILE "
               "writes the requests";
    }
    if (std::ranges::all_of(lines, is_line_of_fios_log)) {
        return "a log of fio without its first line; add 'fio version 2 iolog', or 'fio version 3 "
               "iolog' if each line begins with a time";
    }
    if (std::ranges::all_of(lines, is_line_of_fios_figures)) {
        return "a log of figures, as fio --write_lat_log makes it, without operations and places; "
               "fio --write_iolog=FILE writes the requests";
    }
    const auto is_of_iostat = [](Text line) {
        return contains(line, "extended device statistics") || line.starts_with("avg-cpu:") ||
               (contains(line, "r/s") && contains(line, "w/s") && contains(line, "evice"));
    };
    if (any(is_of_iostat)) {
        return "the text of iostat, which has sums and no requests; record them with 'blkscope "
               "trace' or blktrace";
    }
    if (any([](Text line) { return contains(line, "==== All Devices ===="); })) {
        return "the text of btt, which has sums and no requests; give the files of blktrace";
    }
    const auto is_of_strace = [](Text line) {
        return contains(line, "pread64(") || contains(line, "pwrite64(");
    };
    return any(is_of_strace) ? "the text of strace, whose times are those of a program's calls"
                             : "";
}

}  // namespace

std::string foreign_kind(std::string_view file) {
    if (const Text kind = first_of(file, binaries, begins_with); !kind.empty())
        return std::string(kind);
    if (const Text encoding = wide_encoding(file); !encoding.empty()) {
        return "a text in " + std::string(encoding) + "; save it as UTF-8";
    }
    Text text = without_mark(file);
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (const Text kind = json_or_html_kind(text); !kind.empty()) return std::string(kind);
    return std::string(text_kind(text));
}

}  // namespace blkscope::trace
