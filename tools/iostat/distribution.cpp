#include "tools/iostat/distribution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "tools/iostat/format.hpp"
#include "tools/program/time_text.hpp"

namespace blkscope::iostat {
namespace {

constexpr std::array<std::string_view, 5> phases{"wait", "service", "total", "receive", "reply"};
constexpr size_t device_phases = 3;  // the first of the array; the others are the connection's

struct OperationName {
    std::string_view kstat;    // the histograms' names begin with this
    std::string_view heading;  // 8 characters at most
};

constexpr std::array operations{OperationName{"read", "read"}, OperationName{"write", "write"},
                                OperationName{"flush", "flush"}, OperationName{"trim", "trim"},
                                OperationName{"write_zeroes", "zeroes"}};
constexpr size_t always_shown = 2;  // this many operations, the first of the array

constexpr std::array percentiles{
    std::pair<std::string_view, kstat2::PerMillion>{"p50", kstat2::p50},
    std::pair<std::string_view, kstat2::PerMillion>{"p90", kstat2::p90},
    std::pair<std::string_view, kstat2::PerMillion>{"p99", kstat2::p99},
    std::pair<std::string_view, kstat2::PerMillion>{"p99.9", kstat2::p999},
    std::pair<std::string_view, kstat2::PerMillion>{"max", kstat2::whole},
};

constexpr size_t line_width_max = 80;
constexpr int bound_width = 7;
constexpr int bounds_width = 2 * bound_width + 1;
constexpr size_t cell_width_min = 5;  // of -w: "150us"
constexpr int column_width = 8;       // of -L
constexpr std::string_view no_data = "-";
constexpr std::string_view latency_name = "latency";

const Histogram* find(const Histograms& histograms, std::string_view operation,
                      std::string_view phase) {
    const auto found = histograms.find(fmt::format("{}_{}", operation, phase));
    return found == histograms.end() ? nullptr : &found->second;
}

// A time as in 1.5us, 20ms, 3s: up to three digits, as many as a bound within a decade needs.
std::string time_text(uint64_t ns) {
    return ns == 0 ? "0" : program::time_text(static_cast<double>(ns), 3);
}

// Adjacent buckets that are shown as one row: [first, last].
struct Row {
    uint32_t first;
    uint32_t last;
};

// Whether the bound is 1, 2, 4, 6 or 8 times a power of ten.
bool begins_a_fifth(uint64_t bound) {
    while (bound >= 10 && bound % 10 == 0) bound /= 10;
    return bound == 1 || (bound < 10 && bound % 2 == 0);
}

// Rows are fifths of a decade if the buckets fit into these. Else each bucket is a row.
std::vector<Row> rows_of(const kstat2::Buckets& shape) {
    const bool gathered = shape.type() == KSTAT2_NVHIST_LOG10_LIN && shape.stepping() % 5 == 0;
    std::vector<Row> rows;
    for (uint32_t i = 0; i < shape.count(); ++i) {
        if (!gathered || rows.empty() || begins_a_fifth(shape.lower(i))) {
            rows.push_back({i, i});
        } else {
            rows.back().last = i;
        }
    }
    return rows;
}

uint64_t count_in(const Histogram& histogram, const Row& row) {
    uint64_t count = 0;
    for (size_t i = row.first; i <= row.last && i < histogram.counts.size(); ++i) {
        count += histogram.counts[i];
    }
    return count;
}

// The bounds of a row; the upper bound does not belong to the row. The last row has no upper bound,
// and shows a dash.
std::string bounds_text(const kstat2::Buckets& shape, const Row& row) {
    const bool endless = row.last + 1 == shape.count();
    return fmt::format("{:>{}} {:>{}}", time_text(shape.lower(row.first)), bound_width,
                       endless ? std::string(no_data) : time_text(shape.lower(row.last + 1)),
                       bound_width);
}

// The bounds with -r, in whole nanoseconds; the upper bound belongs to the row. Without an upper
// bound the field is empty.
std::string bounds_fields(const kstat2::Buckets& shape, const Row& row) {
    const bool endless = row.last + 1 == shape.count();
    return fmt::format("{},{}", shape.lower(row.first),
                       endless ? "" : std::to_string(shape.upper(row.last)));
}

// A column of -w. The histogram is null if it is missing, or if its shape is not that of the rows.
struct WaitColumn {
    std::string_view heading;
    const Histogram* histogram;
    size_t width = 0;
};

// The columns of one phase, side by side below its title.
struct Phase {
    std::string_view title;
    std::vector<WaitColumn> columns;

    [[nodiscard]] size_t width() const {
        size_t width = 0;
        for (const WaitColumn& column : columns) width += 1 + column.width;
        return width;
    }
};

// The table of -w for one device, or as much of it as is side by side.
struct Table {
    std::vector<Phase> phases;
    const kstat2::Buckets& shape;

    template <class Take>
    void for_each_column(Take take) const {
        for (const Phase& phase : phases) std::ranges::for_each(phase.columns, take);
    }
    [[nodiscard]] bool empty_in(const Row& row) const {
        uint64_t count = 0;
        for_each_column([&](const WaitColumn& column) {
            if (column.histogram != nullptr) count += count_in(*column.histogram, row);
        });
        return count == 0;
    }
};

std::vector<OperationName> shown_operations(const Device& device, const Options& options) {
    std::vector<OperationName> shown;
    for (size_t i = 0; i < operations.size(); ++i) {
        const Histogram* total = find(device.histograms, operations[i].kstat, "total");
        const bool done = total != nullptr && total->count() > 0;
        if (options.comma_separated || i < always_shown || done) shown.push_back(operations[i]);
    }
    return shown;
}

// The stages on the connection are shown once a request has come from one.
std::vector<std::string_view> shown_phases(const Device& device, const Options& options) {
    std::vector<std::string_view> shown;
    for (size_t i = 0; i < phases.size(); ++i) {
        const bool done = std::ranges::any_of(operations, [&](const OperationName& operation) {
            const Histogram* histogram = find(device.histograms, operation.kstat, phases[i]);
            return histogram != nullptr && histogram->count() > 0;
        });
        if (options.comma_separated || i < device_phases || done) shown.push_back(phases[i]);
    }
    return shown;
}

// The histogram whose shape the table uses: the total time of reads, or of the first operation.
const Histogram* first_of(const Histograms& histograms) {
    for (const OperationName& operation : operations) {
        if (const Histogram* total = find(histograms, operation.kstat, "total")) return total;
    }
    return nullptr;
}

Table make_table(const Histograms& interval, const Histogram& first,
                 const std::vector<std::string_view>& stages,
                 const std::vector<OperationName>& shown) {
    Table table{{}, first.shape};
    for (const std::string_view stage : stages) {
        Phase phase{.title = stage, .columns = {}};
        for (const OperationName& operation : shown) {
            const Histogram* histogram = find(interval, operation.kstat, stage);
            const bool fits = histogram != nullptr && histogram->like(first);
            phase.columns.push_back({operation.heading, fits ? histogram : nullptr});
        }
        table.phases.push_back(std::move(phase));
    }
    return table;
}

// The rows from the first to the last that is not empty. With -r, all rows that are not empty.
std::vector<Row> shown_rows(const Table& table, const Options& options) {
    std::vector<Row> rows;
    if (options.comma_separated) {
        for (uint32_t i = 0; i < table.shape.count(); ++i) rows.push_back({i, i});
        std::erase_if(rows, [&](const Row& row) { return table.empty_in(row); });
        return rows;
    }
    rows = rows_of(table.shape);
    while (!rows.empty() && table.empty_in(rows.back())) rows.pop_back();
    const auto first =
        std::ranges::find_if(rows, [&](const Row& row) { return !table.empty_in(row); });
    rows.erase(rows.begin(), first);
    return rows;
}

std::string cell_text(const Histogram* histogram, const Row& row) {
    return histogram != nullptr ? std::to_string(count_in(*histogram, row)) : std::string(no_data);
}

std::string cells_of(const Table& table, const Row& row) {
    std::string text;
    table.for_each_column([&](const WaitColumn& column) {
        text += fmt::format(" {:>{}}", cell_text(column.histogram, row), column.width);
    });
    return text;
}

std::string fields_of(const Table& table, const Row& row) {
    std::string text;
    table.for_each_column([&](const WaitColumn& column) {
        text += ',';
        if (column.histogram != nullptr) text += std::to_string(count_in(*column.histogram, row));
    });
    return text;
}

// A percentile in the last bucket, which has no end, is shown as larger than the lower bound.
std::string percentile_text(const Histogram* histogram, kstat2::PerMillion p) {
    if (histogram == nullptr) return std::string(no_data);
    const auto bucket = kstat2::percentile_bucket(histogram->counts, p);
    if (!bucket) return std::string(no_data);
    const auto index = static_cast<uint32_t>(*bucket);
    if (index + 1 >= histogram->shape.count())
        return ">" + time_text(histogram->shape.lower(index));
    return time_text(histogram->shape.lower(index + 1));
}

std::string percentile_lines(const Table& table) {
    std::string text;
    for (const auto& [name, p] : percentiles) {
        text += fmt::format("{:>{}}", name, bounds_width);
        table.for_each_column([&, p = p](const WaitColumn& column) {
            text += fmt::format(" {:>{}}", percentile_text(column.histogram, p), column.width);
        });
        text += '\n';
    }
    return text;
}

// A column is as wide as its longest cell.
void set_widths(Table& table) {
    const std::vector<Row> rows = rows_of(table.shape);
    for (Phase& phase : table.phases) {
        for (WaitColumn& column : phase.columns) {
            column.width = std::max(cell_width_min, column.heading.size());
            for (const Row& row : rows) {
                column.width = std::max(column.width, cell_text(column.histogram, row).size());
            }
            for (const auto& [name, p] : percentiles) {
                column.width = std::max(column.width, percentile_text(column.histogram, p).size());
            }
        }
        ++phase.columns.front().width;  // so that a gap is between the phases
    }
}

// Phases stand side by side as far as a line has room for them, and the others below.
std::vector<Table> within_lines(Table table) {
    std::vector<Table> tables;
    size_t width = 0;
    for (Phase& phase : table.phases) {
        if (tables.empty() || width + phase.width() > line_width_max) {
            tables.push_back({{}, table.shape});
            width = bounds_width;
        }
        width += phase.width();
        tables.back().phases.push_back(std::move(phase));
    }
    return tables;
}

// Centres each phase over its columns.
std::string wait_table_titles(const std::string& name, const Table& table) {
    std::string titles = fmt::format("{:<{}}", name, bounds_width);
    std::string headings = fmt::format("{:>{}} {:>{}}", "from", bound_width, "to", bound_width);
    for (const Phase& phase : table.phases) {
        titles += fmt::format("{:^{}}", phase.title, phase.width());
        for (const WaitColumn& column : phase.columns) {
            headings += fmt::format(" {:>{}}", column.heading, column.width);
        }
    }
    titles.erase(titles.find_last_not_of(' ') + 1);
    return titles + "\n" + headings + "\n";
}

std::string wait_table_text(const std::string& name, const Table& table, const Options& options) {
    std::string text = wait_table_titles(name, table);
    for (const Row& row : shown_rows(table, options)) {
        text += bounds_text(table.shape, row) + cells_of(table, row) + "\n";
    }
    return text + percentile_lines(table);
}

std::string without_data(const Device& device, std::string_view what, const Options& options) {
    if (options.comma_separated) return {};
    return fmt::format("{:<{}} {:>{}} {}\n", device.name, bounds_width, what, column_width,
                       no_data);
}

double percent(uint64_t part, uint64_t whole) {
    return 100 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string latency_lines(const Device& device, const Histogram& latency, const Options& options) {
    std::string text;
    const uint64_t all = latency.count();
    uint64_t before = 0;
    for (uint32_t i = 0; before < all; ++i) {
        const Row row{i, i};
        const uint64_t count = count_in(latency, row);
        if (count == 0 && (before == 0 || options.comma_separated)) continue;
        before += count;
        text += options.comma_separated
                    ? fmt::format("{},{},{},{:.2f},{:.2f}\n", csv_field(device.name),
                                  bounds_fields(latency.shape, row), count, percent(count, all),
                                  percent(before, all))
                    : fmt::format("{} {:>{}} {:>7.2f} {:>10.2f}\n", bounds_text(latency.shape, row),
                                  count, column_width, percent(count, all), percent(before, all));
    }
    return text;
}

}  // namespace

std::string wait_table_header(const Options& options) {
    if (!options.comma_separated) return {};
    std::string text = "device,from_ns,to_ns";
    for (const std::string_view phase : phases) {
        for (const OperationName& operation : operations) {
            text += fmt::format(",{}_{}", operation.kstat, phase);
        }
    }
    return text + "\n";
}

std::string wait_table(const Device& device, const Histograms& interval, const Options& options) {
    const Histogram* first = first_of(interval);
    if (first == nullptr) return without_data(device, "times", options);
    const std::vector<OperationName> shown = shown_operations(device, options);
    const std::vector<std::string_view> stages = shown_phases(device, options);
    Table table = make_table(interval, *first, stages, shown);
    std::string text;
    if (options.comma_separated) {
        for (const Row& row : shown_rows(table, options)) {
            text += fmt::format("{},{}{}\n", csv_field(device.name),
                                bounds_fields(table.shape, row), fields_of(table, row));
        }
        return text;
    }
    set_widths(table);
    for (const Table& part : within_lines(std::move(table))) {
        text += wait_table_text(device.name, part, options);
    }
    return text;
}

std::string latency_table_header(const Options& options) {
    return options.comma_separated ? "device,from_ns,to_ns,count,density,cumulative\n" : "";
}

std::string latency_table(const Device& device, const Histograms& interval,
                          const Options& options) {
    const auto latency = interval.find(latency_name);
    if (latency == interval.end()) return without_data(device, latency_name, options);
    if (options.comma_separated) return latency_lines(device, latency->second, options);
    return fmt::format("{:<{}} {:>{}}\n{:>{}} {:>{}} {:>{}} {:>7} {:>10}\n", device.name,
                       bounds_width, latency_name, column_width, "from", bound_width, "to",
                       bound_width, "count", column_width, "density", "cumulative") +
           latency_lines(device, latency->second, options);
}

bool is_idle(const Histograms& interval) {
    return std::ranges::all_of(interval, [](const auto& named) {
        return named.second.count() == 0 || !named.first.ends_with("_total");
    });
}

}  // namespace blkscope::iostat
