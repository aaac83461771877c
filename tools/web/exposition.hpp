// Writes the text formats of Prometheus: families of samples, each series once.
//
//     # HELP blkscope_reads_completed_total Reads that ended.
//     # TYPE blkscope_reads_completed_total counter
//     blkscope_reads_completed_total{device="nbd0"} 1234
//
// OpenMetrics differs: a counter's family has no "_total", and the text ends with "# EOF".
//
// A label may have any bytes. Control characters, and bytes that are not UTF-8, become U+FFFD.
//
// Threads: any. Errors: none.
// Source:  Prometheus, "Exposition formats" (text format 0.0.4); the OpenMetrics specification 1.0.
#pragma once

#include <sys/kstat.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace blkscope::web {

enum class TextFormat { prometheus, open_metrics };

/// The format that an Accept field prefers. Prometheus' text if it names none of both.
[[nodiscard]] TextFormat format_for(std::string_view accept);

/// The Content-Type of a format.
[[nodiscard]] std::string_view type_of(TextFormat format);

using Labels = std::vector<std::pair<std::string_view, std::string>>;

enum class Metric { counter, gauge, histogram, unknown };

/// Of all values of a histogram.
struct HistogramTotal {
    uint64_t count = 0;
    uint64_t sum_ns = 0;
};

class Exposition {
  public:
    explicit Exposition(TextFormat format) : format_(format) {}

    /// Begins a family. A counter's name has no "_total" here. All samples of a family follow it,
    /// and no other family has its name.
    void family(std::string_view name, Metric type, std::string_view help);

    /// A sample of the last family; of a counter, with "_total" behind its name. A series that the
    /// family has already is left out.
    void sample(const Labels& labels, std::string_view value, std::string_view suffix = {});

    /// A series of buckets. `below` has the numbers of values below each of `edges`, which are texts
    /// of seconds. The labels are written for all samples at once, as most of a scrape is this.
    void histogram(const Labels& labels, std::span<const std::string_view> edges,
                   std::span<const uint64_t> below, const HistogramTotal& total);

    /// The whole text.
    [[nodiscard]] std::string take();

  private:
    bool begin_series(const Labels& labels, std::string_view suffix);
    void append_sample(std::string_view suffix, std::string_view edge, std::string_view value);

    TextFormat format_;
    std::string text_;
    std::string name_;
    std::string head_;  // of the last family, until it has a sample
    Metric type_ = Metric::gauge;
    std::string labels_;                      // of the last series, without the braces
    std::string series_text_;                 // of the last series
    std::unordered_set<std::string> series_;  // of the last family
};

/// Nanoseconds as seconds, exactly.
[[nodiscard]] std::string seconds_text(uint64_t ns);

/// `text` as a label's value has it, without the quotes.
[[nodiscard]] std::string label_text(std::string_view text);

}  // namespace blkscope::web
