#include "tools/web/exposition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "base/utf8.hpp"
#include "tools/web/request.hpp"

namespace blkscope::web {
namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";  // U+FFFD

const char* name_of(Metric type, TextFormat format) {
    switch (type) {
        case Metric::counter:
            return "counter";
        case Metric::gauge:
            return "gauge";
        case Metric::histogram:
            return "histogram";
        case Metric::unknown:
            return format == TextFormat::prometheus ? "untyped" : "unknown";
    }
    return "unknown";
}

// The weight q of a media range's parameters, in thousandths; 1000 if there is none.
int weight_of(std::string_view parameters) {
    const size_t at = parameters.find("q=");
    if (at == std::string_view::npos) return 1000;
    int weight = 0;
    int unit = 1000;
    for (const char c : parameters.substr(at + 2)) {
        if (c == '.') continue;
        if (c < '0' || c > '9' || unit == 0) break;
        weight += (c - '0') * unit;
        unit /= 10;
    }
    return std::min(weight, 1000);
}

}  // namespace

TextFormat format_for(std::string_view field) {
    std::string text = in_lower_case(field);
    std::erase(text, '"');  // version="1.0.0" is version=1.0.0
    std::string_view accept = text;
    int plain = 0;
    int open = 0;
    while (!accept.empty()) {
        const std::string_view one = accept.substr(0, accept.find(','));
        accept.remove_prefix(std::min(one.size() + 1, accept.size()));
        const size_t semicolon = std::min(one.find(';'), one.size());
        const std::string_view parameters = one.substr(semicolon);
        const auto has = [&](std::string_view name) {
            return one.substr(0, semicolon).find(name) != std::string_view::npos;
        };
        const size_t version = parameters.find("version=");
        const bool is_known = version == std::string_view::npos ||
                              parameters.substr(version + 8).starts_with("1.0.0") ||
                              parameters.substr(version + 8).starts_with("0.0.1");
        if (has("application/openmetrics-text") && is_known) {
            open = std::max(open, weight_of(parameters));
        } else if (has("text/plain") || has("text/*") || has("*/*")) {
            plain = std::max(plain, weight_of(parameters));
        }
    }
    return open > 0 && open >= plain ? TextFormat::open_metrics : TextFormat::prometheus;
}

std::string_view type_of(TextFormat format) {
    return format == TextFormat::prometheus
               ? "text/plain; version=0.0.4; charset=utf-8"
               : "application/openmetrics-text; version=1.0.0; charset=utf-8";
}

std::string label_text(std::string_view text) {
    const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
    if (std::ranges::all_of(text, is_plain)) return std::string(text);
    std::string out;
    while (!text.empty()) {
        const char c = text.front();
        const size_t length = utf8_length(text);
        if (c == '\\' || c == '"') {
            out += '\\';
            out += c;
        } else if (c == '\n') {
            out += "\\n";
        } else if (length == 0 || static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            out += replacement;
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(std::max<size_t>(length, 1));
    }
    return out;
}

std::string seconds_text(uint64_t ns) {
    return fmt::format("{}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000);
}

void Exposition::family(std::string_view name, Metric type, std::string_view help) {
    name_ = name;
    type_ = type;
    series_.clear();
    const bool has_suffix = type == Metric::counter && format_ == TextFormat::prometheus;
    const std::string shown = name_ + (has_suffix ? "_total" : "");
    head_ = fmt::format("# HELP {} {}\n# TYPE {} {}\n", shown, help, shown, name_of(type, format_));
}

// Writes the labels to labels_. False: the family has the series already.
bool Exposition::begin_series(const Labels& labels, std::string_view suffix) {
    labels_.clear();
    for (const auto& [label, text] : labels) {
        if (!labels_.empty()) labels_ += ',';
        labels_.append(label).append("=\"").append(label_text(text)) += '"';
    }
    series_text_.assign(suffix).append("{").append(labels_);
    if (!series_.insert(series_text_).second) return false;
    text_ += head_;
    head_.clear();
    return true;
}

// A sample of the last series, with the label `le` if it has an edge.
void Exposition::append_sample(std::string_view suffix, std::string_view edge,
                               std::string_view value) {
    text_.append(name_).append(suffix);
    if (!labels_.empty() || !edge.empty()) text_ += '{';
    text_ += labels_;
    if (!edge.empty()) {
        if (!labels_.empty()) text_ += ',';
        text_.append("le=\"").append(edge) += '"';
    }
    if (!labels_.empty() || !edge.empty()) text_ += '}';
    text_ += ' ';
    text_.append(value) += '\n';
}

void Exposition::sample(const Labels& labels, std::string_view value, std::string_view suffix) {
    if (type_ == Metric::counter) suffix = "_total";
    if (begin_series(labels, suffix)) append_sample(suffix, {}, value);
}

void Exposition::histogram(const Labels& labels, std::span<const std::string_view> edges,
                           std::span<const uint64_t> below, const HistogramTotal& total) {
    assert(edges.size() == below.size() && type_ == Metric::histogram);
    if (!begin_series(labels, {})) return;
    for (size_t i = 0; i < edges.size(); ++i) {
        append_sample("_bucket", edges[i], fmt::format_int(below[i]).str());
    }
    const std::string count = std::to_string(total.count);
    append_sample("_bucket", "+Inf", count);
    append_sample("_sum", {}, seconds_text(total.sum_ns));
    append_sample("_count", {}, count);
}

std::string Exposition::take() {
    if (format_ == TextFormat::open_metrics) text_ += "# EOF\n";
    return std::move(text_);
}

}  // namespace blkscope::web
