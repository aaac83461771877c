// A strict reader of the text formats, for tests. promtool accepts a series that is there twice.
#pragma once

#include <cctype>
#include <charconv>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.hpp"

namespace blkscope::web {

class Scrape {
  public:
    /// Throws std::runtime_error with the line that breaks a rule.
    explicit Scrape(const std::string& text, bool open_metrics = false) : open_(open_metrics) {
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) take(line);
        if (!text.empty() && text.back() != '\n') fail("no line end", text);
        if (open_ != ended_) fail("EOF", text.substr(0, 80));
        check_histograms();
    }

    /// The value of a series, as it is written: name{label="value",...}.
    [[nodiscard]] std::string operator[](const std::string& series) const {
        const auto found = samples_.find(series);
        return found == samples_.end() ? "none" : found->second;
    }

    [[nodiscard]] bool has_family(const std::string& name) const { return types_.contains(name); }
    [[nodiscard]] size_t size() const { return samples_.size(); }

    /// The number of series that begin so.
    [[nodiscard]] size_t count(const std::string& begin) const {
        size_t count = 0;
        for (auto at = samples_.lower_bound(begin);
             at != samples_.end() && at->first.starts_with(begin); ++at) {
            ++count;
        }
        return count;
    }

  private:
    [[noreturn]] static void fail(const char* rule, const std::string& line) {
        throw std::runtime_error(std::string(rule) + ": " + line);
    }

    static bool is_name(std::string_view name) {
        if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) return false;
        for (const char c : name) {
            if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != ':')
                return false;
        }
        return true;
    }

    void take(const std::string& line) {
        if (ended_) fail("a line behind EOF", line);
        if (!is_utf8(line)) fail("no UTF-8", line);
        if (line == "# EOF") {
            ended_ = true;
        } else if (line.starts_with("# HELP ")) {
            const std::string name = line.substr(7, line.find(' ', 7) - 7);
            if (!is_name(name) || !helped_.insert(name).second) fail("HELP", line);
            family_ = name;
        } else if (line.starts_with("# TYPE ")) {
            const size_t blank = line.find(' ', 7);
            const std::string name = line.substr(7, blank - 7);
            if (name != family_) fail("TYPE without its HELP", line);
            if (!types_.emplace(name, line.substr(blank + 1)).second) fail("TYPE twice", line);
        } else {
            take_sample(line);
        }
    }

    void take_sample(const std::string& line) {
        const size_t brace = line.find('{');
        const size_t name_end = std::min(brace, line.find(' '));
        const std::string name = line.substr(0, name_end);
        if (!is_name(name)) fail("name", line);
        check_family(name, line);
        const size_t end = brace == name_end ? after_labels(line, brace + 1) : name_end;
        if (end >= line.size() || line[end] != ' ') fail("blank", line);
        double value = 0;
        const char* const last = line.data() + line.size();
        if (std::from_chars(line.data() + end + 1, last, value).ptr != last) fail("value", line);
        if (!samples_.emplace(line.substr(0, end), line.substr(end + 1)).second) {
            fail("a series twice", line);
        }
    }

    void check_family(const std::string& name, const std::string& line) const {
        const auto type = types_.find(family_);
        if (type == types_.end()) fail("no TYPE", line);
        std::string suffix = name.starts_with(family_) ? name.substr(family_.size()) : "?";
        if (type->second == "counter") {
            const bool total = open_ ? suffix == "_total" : suffix.empty();
            if (!total || !name.ends_with("_total")) fail("counter", line);
        } else if (type->second == "histogram") {
            if (suffix != "_bucket" && suffix != "_sum" && suffix != "_count")
                fail("histogram", line);
        } else if (!suffix.empty()) {
            fail("another family", line);
        }
    }

    // The index behind the closing brace.
    static size_t after_labels(const std::string& line, size_t at) {
        std::set<std::string> names;
        for (;;) {
            const size_t equals = line.find("=\"", at);
            if (equals == std::string::npos) fail("label", line);
            const std::string name = line.substr(at, equals - at);
            if (!is_name(name) || !names.insert(name).second) fail("label name", line);
            for (at = equals + 2; at < line.size() && line[at] != '"'; ++at) {
                if (static_cast<unsigned char>(line[at]) < 0x20) fail("control character", line);
                if (line[at] == '\\' &&
                    std::string_view("\\\"n").find(line[++at]) == std::string_view::npos) {
                    fail("escape", line);
                }
            }
            if (at + 1 >= line.size()) fail("label end", line);
            if (line[at + 1] == '}') return at + 2;
            if (line[at + 1] != ',') fail("comma", line);
            at += 2;
        }
    }

    // The counts of a histogram never decrease, and the last one is its count.
    void check_histograms() const {
        for (const auto& [series, value] : samples_) {
            const size_t infinity = series.find("_bucket{");
            if (infinity == std::string::npos || series.find("le=\"+Inf\"") == std::string::npos)
                continue;
            std::string count = series;
            count.replace(infinity, 7, "_count");
            count.erase(count.find(",le=\"+Inf\""), 10);
            const auto found = samples_.find(count);
            if (found == samples_.end() || found->second != value) fail("count", series);
            double last = 0;
            for (const char* edge :
                 {"1e-06",  "2e-06", "5e-06", "1e-05", "2e-05", "5e-05", "0.0001", "0.0002",
                  "0.0005", "0.001", "0.002", "0.005", "0.01",  "0.02",  "0.05",   "0.1",
                  "0.2",    "0.5",   "1.0",   "2.0",   "5.0",   "10.0",  "+Inf"}) {
                std::string bucket = series;
                bucket.replace(bucket.find("+Inf"), 4, edge);
                const auto at = samples_.find(bucket);
                if (at == samples_.end() || std::stod(at->second) < last) fail("bucket", bucket);
                last = std::stod(at->second);
            }
        }
    }

    bool open_;
    bool ended_ = false;
    std::string family_;
    std::set<std::string> helped_;
    std::map<std::string, std::string> types_;
    std::map<std::string, std::string> samples_;
};

}  // namespace blkscope::web
