#include "tools/blkscope/histogram_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <vector>

#include "base/decimal.hpp"
#include "tools/program/json_documents.hpp"
#include "tools/program/read_file.hpp"

namespace blkscope {
namespace {

using nlohmann::json;

// A disk or an endless device that was named by mistake must not fill the memory.
constexpr size_t file_bytes_max = size_t{64} << 20;

// The buckets of several histograms together, by their lower bounds.
class Sum {
  public:
    void add(double from_ns, double to_ns, uint64_t count) {
        if (count == 0) return;
        model::Histogram::Bucket& bucket = buckets_[from_ns];
        if (bucket.count > 0 && bucket.to_ns != to_ns) {
            throw std::invalid_argument("its histograms have different buckets");
        }
        if (count > std::numeric_limits<uint64_t>::max() - bucket.count) {
            throw std::invalid_argument("its counts are too large");
        }
        bucket = {from_ns, to_ns, bucket.count + count};
    }
    [[nodiscard]] model::Histogram histogram() const {
        model::Histogram all;
        for (const auto& [from_ns, bucket] : buckets_) all.buckets.push_back(bucket);
        return all;
    }

  private:
    std::map<double, model::Histogram::Bucket> buckets_;
};

// The member of an object, or nullptr.
const json* member(const json* object, std::string_view name) {
    if (object == nullptr || !object->is_object()) return nullptr;
    const auto at = object->find(std::string(name));
    return at == object->end() ? nullptr : &*at;
}

uint64_t count_of(const json& value) {
    if (!value.is_number_unsigned()) throw std::invalid_argument("a count is no whole number");
    return value.get<uint64_t>();
}

// fio names a bin by its middle. Above 128 ns each power of two has 64 bins.
void add_bins(Sum& sum, const json& bins) {
    if (!bins.is_object()) throw std::invalid_argument("fio's bins are no object");
    for (const auto& [name, count] : bins.items()) {
        const auto middle = decimal<uint64_t>(name);
        if (!middle) throw std::invalid_argument("fio's bin '" + name + "' is no number");
        const unsigned shift =
            *middle < 128 ? 0 : static_cast<unsigned>(std::bit_width(*middle)) - 7;
        const uint64_t from = *middle >> shift << shift;
        const auto from_ns = static_cast<double>(from);
        sum.add(from_ns, from_ns + static_cast<double>(uint64_t{1} << shift), count_of(count));
    }
}

// The histogram of completions; without one, that of whole requests, which begins with the submission.
const json* bins_of(const json& job, std::string_view operation) {
    const bool flush = operation == "flush";
    const json* const times = member(&job, flush ? "sync" : operation);
    const json* const bins = member(member(times, flush ? "lat_ns" : "clat_ns"), "bins");
    return bins != nullptr || flush ? bins : member(member(times, "lat_ns"), "bins");
}

// The jobs of one report. Those of a client of servers are under another name, with their sum behind them.
std::vector<const json*> jobs_of(const json& report) {
    const json* const local = member(&report, "jobs");
    const json* const jobs = local != nullptr ? local : member(&report, "client_stats");
    if (jobs == nullptr) return {};
    if (!jobs->is_array()) throw std::invalid_argument("fio's jobs are no array");
    std::vector<const json*> found;
    for (const json& job : *jobs) {
        const json* const name = member(&job, "jobname");
        const bool is_sum = name != nullptr && *name == "All clients";
        if (!is_sum || jobs->size() == 1) found.push_back(&job);
    }
    return found;
}

bool is_of_fio(const json& report) {
    return member(&report, "jobs") != nullptr || member(&report, "client_stats") != nullptr;
}

void add_fio(Sum& sum, const json& report, std::string_view operation) {
    for (const json* const job : jobs_of(report)) {
        if (const json* bins = bins_of(*job, operation); bins != nullptr) add_bins(sum, *bins);
    }
}

std::optional<int64_t> number_in(const json* value) {
    if (value == nullptr || !value->is_number_unsigned()) return {};
    const auto found = value->get<uint64_t>();
    if (found > INT32_MAX * uint64_t{1000}) return {};
    return static_cast<int64_t>(found);
}

// Whether a count, or each of an object's counts, is as large later on. What is not there has not shrunk.
bool has_grown(const json* counts, const json* later) {
    if (counts == nullptr) return true;
    if (!counts->is_object()) {
        const auto count = number_in(counts);
        const auto later_count = number_in(later);
        return !count || (later_count && *later_count >= *count);
    }
    for (const auto& [name, count] : counts->items()) {
        if (!has_grown(&count, member(later, name))) return false;
    }
    return true;
}

// Another run of the same job may be as long, and have more requests, but hardly more of each bin.
bool has_grown_in_all_parts(const json* job, const json* later) {
    for (const char* part : {"read", "write", "trim", "mixed", "sync"}) {
        const json* const times = member(job, part);
        const json* const later_times = member(later, part);
        if (!has_grown(member(times, "total_ios"), member(later_times, "total_ios"))) return false;
        for (const char* kind : {"clat_ns", "lat_ns"}) {
            if (!has_grown(member(member(times, kind), "bins"),
                           member(member(later_times, kind), "bins"))) {
                return false;
            }
        }
    }
    return true;
}

// Whether a later report of fio is of the same run, as --status-interval prints it: that one has all
// requests of the earlier one, too. Both began at the same time, which fio rounds.
bool goes_on(const json& earlier, const json& later) {
    const auto first = jobs_of(earlier);
    const auto second = jobs_of(later);
    if (first.empty() || first.size() != second.size()) return false;
    for (size_t i = 0; i < first.size(); ++i) {
        const auto at = number_in(member(&earlier, "timestamp"));
        const auto later_at = number_in(member(&later, "timestamp"));
        const auto elapsed = number_in(member(first[i], "elapsed"));
        const auto later_elapsed = number_in(member(second[i], "elapsed"));
        if (!at || !later_at || !elapsed || !later_elapsed) return false;
        if (std::abs((*later_at - *later_elapsed) - (*at - *elapsed)) > 1) return false;
        if (*later_elapsed < *elapsed) return false;
        const json* const name = member(first[i], "jobname");
        const json* const later_name = member(second[i], "jobname");
        if (name == nullptr || later_name == nullptr || *name != *later_name) return false;
        if (!has_grown_in_all_parts(first[i], second[i])) return false;
    }
    return true;
}

// counts[i] are below bounds[i], and not below the bound before it. The last bucket has no upper
// bound and is taken to be as wide as the one before it.
void add_buckets(Sum& sum, const json& bounds, const json& counts) {
    if (!bounds.is_array() || !counts.is_array() || bounds.empty() ||
        counts.size() != bounds.size() + 1) {
        throw std::invalid_argument("a histogram's bounds and counts do not fit");
    }
    std::vector<double> edges{0};
    for (const json& bound : bounds) {
        if (!bound.is_number() || bound.get<double>() <= edges.back()) {
            throw std::invalid_argument("a histogram's bounds do not ascend");
        }
        edges.push_back(bound.get<double>());
    }
    edges.push_back(edges.back() + (edges.back() - edges[edges.size() - 2]));
    for (size_t i = 0; i < counts.size(); ++i) sum.add(edges[i], edges[i + 1], count_of(counts[i]));
}

void add_iostat(Sum& sum, const json& devices, std::string_view operation) {
    if (!devices.is_array()) throw std::invalid_argument("iostat's devices are no array");
    const std::string name =
        (operation == "zeroes" ? "write_zeroes" : std::string(operation)) + "_service";
    for (const json& device : devices) {
        const json* histogram = member(member(&device, "histograms"), name);
        const json* bounds = member(histogram, "bounds");
        const json* counts = member(histogram, "counts");
        if (bounds != nullptr && counts != nullptr) add_buckets(sum, *bounds, *counts);
    }
}

// For "all", reads and writes. fio may have counted these as one, with the trims.
void add_document(Sum& sum, const json& document, std::string_view operation) {
    const bool fio = is_of_fio(document);
    const json* const devices = member(&document, "devices");
    if (!fio && devices == nullptr) {
        throw std::invalid_argument("it is neither of iostat -j nor fio's json+");
    }
    const auto add = [&](std::string_view one) {
        fio ? add_fio(sum, document, one) : add_iostat(sum, *devices, one);
    };
    if (operation != "all") return add(operation);
    const auto jobs = jobs_of(document);
    const bool mixed = std::ranges::any_of(jobs, [](const json* job) {
        return member(job, "mixed") != nullptr && member(job, "read") == nullptr;
    });
    if (mixed) return add("mixed");
    add("read");
    add("write");
}

// Why a document has no times of an operation that it could have.
std::string_view why_none(const json& document, std::string_view operation) {
    for (const json* const job : jobs_of(document)) {
        const bool may_be_mixed =
            operation == "read" || operation == "write" || operation == "trim";
        if (may_be_mixed && member(job, "mixed") != nullptr && member(job, "read") == nullptr) {
            return "; fio mixed reads, writes and trims (unified_rw_reporting), so they are of "
                   "'all' "
                   "only";
        }
        for (const char* part : {"read", "write"}) {
            const json* const count = member(member(member(job, part), "clat_ns"), "N");
            if (count == nullptr || *count == 0) continue;
            if (bins_of(*job, part) == nullptr) {
                return "; fio wrote no bins: they come of --output-format=json+, and not with "
                       "clat_percentiles=0";
            }
        }
    }
    const json* const devices = member(&document, "devices");
    const auto has_none = [](const json& device) {
        const json* const histograms = member(&device, "histograms");
        return histograms == nullptr || histograms->is_null();
    };
    if (devices != nullptr && devices->is_array() && std::ranges::all_of(*devices, has_none)) {
        return "; iostat wrote no histograms: they come of -j -L";
    }
    return {};
}

// The text's documents in their order, one at a time in memory with the one before it. Those that a
// later one repeats are left out.
template <class Take>
void for_each_report(const std::string& text, Take take) {
    json before;
    for (const program::JsonDocument& each : program::json_documents(text)) {
        json document = program::parse_document(each);
        if (!before.is_null() && !goes_on(before, document)) take(before);
        before = std::move(document);
    }
    take(before);
}

}  // namespace

model::Histogram parse_histogram(const std::string& text, std::string_view operation) {
    Sum sum;
    std::string_view why;
    for_each_report(text, [&](const json& report) {
        add_document(sum, report, operation);
        if (why.empty()) why = why_none(report, operation);
    });
    model::Histogram histogram = sum.histogram();
    if (histogram.buckets.empty()) {
        throw std::invalid_argument(fmt::format("it has no times of '{}'{}", operation, why));
    }
    return histogram;
}

model::Histogram read_histogram(const std::string& file, std::string_view operation) {
    const std::string text = program::read_file(file, file_bytes_max, program::Pipes::refused);
    try {
        return parse_histogram(text, operation);
    } catch (const std::invalid_argument& failure) {
        throw std::invalid_argument("histogram file '" + file + "': " + failure.what());
    }
}

}  // namespace blkscope
