#include "tools/blkscope/histogram_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "base/decimal.hpp"
#include "base/descriptor.hpp"
#include "base/throw_errno.hpp"
#include "tools/program/foreign_json.hpp"

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

void add_fio(Sum& sum, const json& jobs, std::string_view operation) {
    if (!jobs.is_array()) throw std::invalid_argument("fio's jobs are no array");
    for (const json& job : jobs) {
        const bool flush = operation == "flush";
        const json* times =
            member(member(&job, flush ? "sync" : operation), flush ? "lat_ns" : "clat_ns");
        if (const json* bins = member(times, "bins"); bins != nullptr) add_bins(sum, *bins);
    }
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

void add_document(Sum& sum, const json& document, std::string_view operation) {
    if (const json* jobs = member(&document, "jobs"); jobs != nullptr) {
        add_fio(sum, *jobs, operation);
    } else if (const json* devices = member(&document, "devices"); devices != nullptr) {
        add_iostat(sum, *devices, operation);
    } else {
        throw std::invalid_argument("it is neither of iostat -j nor fio's json+");
    }
}

// One document, or a document on each line.
std::vector<json> documents_of(const std::string& text) {
    std::vector<json> documents;
    if (json whole = program::parse_foreign(text); !whole.is_discarded()) {
        documents.push_back(std::move(whole));
        return documents;
    }
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        json document = program::parse_foreign(line);
        if (document.is_discarded()) throw std::invalid_argument("it is no JSON");
        documents.push_back(std::move(document));
    }
    return documents;
}

// A FIFO without a writer must not keep open(2) waiting.
Descriptor open_to_read(const std::string& file) {
    Descriptor opened(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!opened.is_open()) throw_errno("read " + file);
    return opened;
}

// The file's text, cut off behind file_bytes_max.
std::string text_of(int descriptor, const std::string& file) {
    struct stat info {};
    if (::fstat(descriptor, &info) != 0) throw_errno("read " + file);
    if (!S_ISREG(info.st_mode)) throw std::invalid_argument("it is no file");
    std::string text;
    std::array<char, 65536> chunk;
    while (text.size() <= file_bytes_max) {
        const ssize_t count = ::read(descriptor, chunk.data(), chunk.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) throw_errno("read " + file);
        if (count == 0) break;
        text.append(chunk.data(), static_cast<size_t>(count));
    }
    return text;
}

}  // namespace

model::Histogram parse_histogram(const std::string& text, std::string_view operation) {
    Sum sum;
    for (const json& document : documents_of(text)) {
        if (operation == "all") {
            add_document(sum, document, "read");
            add_document(sum, document, "write");
        } else {
            add_document(sum, document, operation);
        }
    }
    model::Histogram histogram = sum.histogram();
    if (histogram.buckets.empty()) {
        throw std::invalid_argument("it has no times of '" + std::string(operation) + "'");
    }
    return histogram;
}

model::Histogram read_histogram(const std::string& file, std::string_view operation) {
    const Descriptor opened = open_to_read(file);
    try {
        const std::string text = text_of(opened.get(), file);
        if (text.size() > file_bytes_max) throw std::invalid_argument("it is larger than 64 MiB");
        return parse_histogram(text, operation);
    } catch (const std::invalid_argument& failure) {
        throw std::invalid_argument("histogram file '" + file + "': " + failure.what());
    }
}

}  // namespace blkscope
