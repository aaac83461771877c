// Distribution: how long a request takes, drawn at random with a known mean.
//
//     "exp:1ms" ── parse ──▶ Distribution ── draw_ns(draws) ──▶ nanoseconds
//
//     const:T             T
//     uniform:A:B         A to B, each with the same chance
//     exp:T               exponential with the mean T
//     erlang:K:T          the sum of K exponentials with the mean T/K
//     lognormal:P50:P99   by its median and its 99th percentile
//     pareto:MIN:ALPHA    MIN * U^(-1/ALPHA); ALPHA above 1, because there is no mean otherwise
//     empirical:FILE      a measured histogram, uniform within a bucket
//
// Units:     nanoseconds.
// Ownership: a value. Copies of an empirical distribution share its buckets.
// Threads:   any, on a constant object.
// Errors:    parse() throws std::invalid_argument with one line.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "blockdev/model/draws.hpp"
#include "blockdev/model/grammar.hpp"

namespace blkscope::model {

/// The buckets of a measured histogram, in ascending order, each with at least one count.
struct Histogram {
    struct Bucket {
        double from_ns = 0;
        double to_ns = 0;
        uint64_t count = 0;

        friend bool operator==(const Bucket&, const Bucket&) = default;
    };
    std::vector<Bucket> buckets;

    friend bool operator==(const Histogram&, const Histogram&) = default;
};

/// Reads the histogram of a file. Throws std::invalid_argument if the file has none.
using HistogramReader = std::function<Histogram(const std::string& file)>;

class Distribution {
  public:
    static Distribution parse(std::string_view text, const HistogramReader& reader);

    [[nodiscard]] double draw_ns(Draws& draws) const;
    [[nodiscard]] double mean_ns() const;
    /// Whether the mean is a part of the text.
    [[nodiscard]] bool says_mean() const;
    /// The text in canonical form; parse() of it is the same distribution.
    [[nodiscard]] std::string text() const;
    /// A line for the log about a distribution that is allowed but unwise; empty for none.
    [[nodiscard]] std::string warning() const;

    /// Equal if all draws are. Two empirical ones also have the same file.
    friend bool operator==(const Distribution&, const Distribution&) = default;

  private:
    struct Constant {
        Time time;
        friend bool operator==(const Constant&, const Constant&) = default;
    };
    struct Uniform {
        Time from, to;
        friend bool operator==(const Uniform&, const Uniform&) = default;
    };
    struct Erlang {
        uint64_t stages;  // 0: an exponential, which has one stage and a name of its own
        Time mean;
        friend bool operator==(const Erlang&, const Erlang&) = default;
    };
    struct Lognormal {
        Time p50, p99;
        friend bool operator==(const Lognormal&, const Lognormal&) = default;
    };
    struct Pareto {
        Time min;
        double alpha;
        friend bool operator==(const Pareto&, const Pareto&) = default;
    };
    struct Empirical {
        std::string file;
        std::shared_ptr<const Histogram> histogram;
        std::shared_ptr<const std::vector<uint64_t>> sums;  // of the counts, up to each bucket

        friend bool operator==(const Empirical& a, const Empirical& b) {
            return a.file == b.file && *a.histogram == *b.histogram;
        }
    };
    using Shape = std::variant<Constant, Uniform, Erlang, Lognormal, Pareto, Empirical>;

    explicit Distribution(Shape shape) : shape_(std::move(shape)) {}

    static Shape parse_uniform(std::string_view arguments);
    static Shape parse_erlang(std::string_view arguments);
    static Shape parse_lognormal(std::string_view arguments);
    static Shape parse_pareto(std::string_view arguments);
    static Shape parse_empirical(std::string_view file, const HistogramReader& reader);

    Shape shape_;
};

}  // namespace blkscope::model
