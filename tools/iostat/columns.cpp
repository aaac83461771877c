#include "tools/iostat/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace blkscope::iostat {
namespace {

// The layouts that a column belongs to, as bits.
constexpr unsigned in_extended = 1;   // -x; -z hides a device whose columns of -x are 0: is_idle()
constexpr unsigned in_named = 2;      // -xn
constexpr unsigned in_transfers = 4;  // -d
constexpr unsigned in_rates = 8;      // -D
constexpr unsigned in_percentiles = 16;  // -q, below -x or -xn; with -r beside
constexpr unsigned in_errors = 32;       // -e, also beside -x or -xn

enum class Quantity {
    plain,
    milliseconds,  // with -u wider, and with three decimals
    percentile,    // of milliseconds; a dash if there is no number
    rate,          // with -I the heading's last letter becomes i
    data           // a rate; with -M the heading's first letter becomes M
};

struct Column {
    std::string_view heading;
    double Figures::*value;
    Quantity quantity;
    int width;
    int precision;
    unsigned layouts;
};

// Each layout shows its columns in the order of this array. So the percentiles and the errors must
// stand behind the columns of -x and -xn. The keys of the JSON reports are not here: json.cpp lists
// them, and summary.hpp those of the summary.
constexpr std::array columns{
    Column{"r/s", &Figures::reads, Quantity::rate, 6, 1, in_extended | in_named},
    Column{"w/s", &Figures::writes, Quantity::rate, 6, 1, in_extended | in_named},
    Column{"kr/s", &Figures::data_read, Quantity::data, 6, 1, in_extended | in_named},
    Column{"kw/s", &Figures::data_written, Quantity::data, 6, 1, in_extended | in_named},
    Column{"wait", &Figures::wait, Quantity::plain, 4, 1, in_extended | in_named},
    Column{"actv", &Figures::actv, Quantity::plain, 4, 1, in_extended | in_named},
    Column{"svc_t", &Figures::svc_t, Quantity::milliseconds, 6, 1, in_extended},
    Column{"wsvc_t", &Figures::wsvc_t, Quantity::milliseconds, 6, 1, in_named},
    Column{"asvc_t", &Figures::asvc_t, Quantity::milliseconds, 6, 1, in_named},
    Column{"%w", &Figures::w_percent, Quantity::plain, 3, 0, in_extended | in_named},
    Column{"%b", &Figures::b_percent, Quantity::plain, 3, 0, in_extended | in_named},
    Column{"w_p50", &Figures::wait_p50, Quantity::percentile, 8, 3, in_percentiles},
    Column{"w_p99", &Figures::wait_p99, Quantity::percentile, 8, 3, in_percentiles},
    Column{"w_p99.9", &Figures::wait_p999, Quantity::percentile, 8, 3, in_percentiles},
    Column{"a_p50", &Figures::service_p50, Quantity::percentile, 8, 3, in_percentiles},
    Column{"a_p99", &Figures::service_p99, Quantity::percentile, 8, 3, in_percentiles},
    Column{"a_p99.9", &Figures::service_p999, Quantity::percentile, 8, 3, in_percentiles},
    Column{"s/w", &Figures::soft_errors, Quantity::plain, 3, 0, in_errors},
    Column{"h/w", &Figures::hard_errors, Quantity::plain, 3, 0, in_errors},
    Column{"trn", &Figures::transport_errors, Quantity::plain, 3, 0, in_errors},
    Column{"tot", &Figures::errors, Quantity::plain, 3, 0, in_errors},
    Column{"kps", &Figures::data, Quantity::data, 3, 0, in_transfers},
    Column{"tps", &Figures::transfers, Quantity::rate, 3, 0, in_transfers},
    Column{"serv", &Figures::svc_t, Quantity::milliseconds, 4, 0, in_transfers},
    Column{"rps", &Figures::reads, Quantity::rate, 3, 0, in_rates},
    Column{"wps", &Figures::writes, Quantity::rate, 3, 0, in_rates},
    Column{"util", &Figures::b_percent, Quantity::plain, 4, 1, in_rates},
};

// A column of tty or cpu, like Column; each of these has a blank in front.
struct ProcessorColumn {
    std::string_view heading;
    double ProcessorFigures::*value;
    int width;
    bool of_cpu;
};

constexpr std::array processor_columns{
    ProcessorColumn{"tin", &ProcessorFigures::characters_in, 3, false},
    ProcessorColumn{"tout", &ProcessorFigures::characters_out, 4, false},
    ProcessorColumn{"us", &ProcessorFigures::user, 2, true},
    ProcessorColumn{"sy", &ProcessorFigures::system, 2, true},
    ProcessorColumn{"dt", &ProcessorFigures::dtrace, 2, true},
    ProcessorColumn{"id", &ProcessorFigures::idle, 2, true},
};

// The width of a service time with -u: 9999.999.
constexpr int fine_width = 8;
constexpr int fine_precision = 3;

unsigned layouts(const Options& options) {
    const unsigned errors = options.errors ? in_errors : 0;
    const unsigned percentiles = options.percentiles ? in_percentiles : 0;
    switch (options.mode) {
        case Mode::extended:
            return errors | percentiles | (options.names_last ? in_named : in_extended);
        case Mode::transfers:
            return in_transfers;
        case Mode::rates:
            return in_rates;
        case Mode::percentiles:
            return in_percentiles;
        case Mode::none:
            return errors;
    }
    return 0;
}

bool is_fine(const Column& column, const Options& options) {
    return options.microseconds && column.quantity == Quantity::milliseconds;
}

int width_of(const Column& column, const Options& options) {
    if (options.comma_separated) return 0;
    return is_fine(column, options) ? fine_width : column.width;
}

int precision_of(const Column& column, const Options& options) {
    return is_fine(column, options) ? fine_precision : column.precision;
}

std::string heading(const Column& column, const Options& options) {
    std::string text(column.heading);
    if (column.quantity != Quantity::rate && column.quantity != Quantity::data) return text;
    if (options.counts) text.back() = 'i';
    if (options.megabytes && column.quantity == Quantity::data) text.front() = 'M';
    return text;
}

bool is_shown(const Column& column, const Options& options) {
    return (column.layouts & layouts(options)) != 0;
}

// The texts of the layout's columns, each made by `cell(column)`.
template <typename Cell>
std::vector<std::string> cells(const Options& options, Cell cell) {
    std::vector<std::string> texts;
    for (const Column& column : columns) {
        if (is_shown(column, options)) texts.push_back(cell(column));
    }
    return texts;
}

// The block of tty or of cpu, with columns made by `cell(column)`. A blank ends the block of tty.
template <typename Cell>
std::string block(bool of_cpu, const Options& options, Cell cell) {
    std::vector<std::string> texts;
    for (const ProcessorColumn& column : processor_columns) {
        if (column.of_cpu == of_cpu) texts.push_back(cell(column));
    }
    if (options.comma_separated) return fmt::format("{}", fmt::join(texts, ","));
    return fmt::format(" {}{}", fmt::join(texts, " "), of_cpu ? "" : " ");
}

template <typename Cell>
Sides sides(const Options& options, Cell cell) {
    return {.tty = options.tty ? block(false, options, cell) : "",
            .cpu = options.cpu ? block(true, options, cell) : ""};
}

}  // namespace

std::vector<std::string> heading_cells(const Options& options) {
    return cells(options, [&](const Column& column) {
        return fmt::format("{:>{}}", heading(column, options), width_of(column, options));
    });
}

std::vector<std::string> value_cells(const Figures& figures, const Options& options) {
    return cells(options, [&](const Column& column) {
        const double value = figures.*column.value;
        const int width = width_of(column, options);
        if (std::isnan(value))
            return fmt::format("{:>{}}", options.comma_separated ? "" : "-", width);
        return fmt::format("{:{}.{}f}", value, width, precision_of(column, options));
    });
}

std::vector<double Figures::*> shown_figures(const Options& options) {
    std::vector<double Figures::*> figures;
    for (const Column& column : columns) {
        if (is_shown(column, options)) figures.push_back(column.value);
    }
    return figures;
}

Sides title_sides(const Options& options) {
    const bool commas = options.comma_separated;
    return {.tty = options.tty ? (commas ? "tty" : "   tty    ") : "",
            .cpu = options.cpu ? (commas ? "cpu" : "     cpu") : ""};
}

Sides heading_sides(const Options& options) {
    return sides(options, [&](const ProcessorColumn& column) {
        return fmt::format("{:>{}}", column.heading, options.comma_separated ? 0 : column.width);
    });
}

Sides value_sides(const ProcessorFigures& figures, const Options& options) {
    return sides(options, [&](const ProcessorColumn& column) {
        return fmt::format("{:{}.0f}", figures.*column.value,
                           options.comma_separated ? 0 : column.width);
    });
}

bool is_idle(const Figures& figures, const Options& options) {
    if (options.errors && figures.errors != 0) return false;
    return std::ranges::all_of(columns, [&](const Column& column) {
        if ((column.layouts & in_extended) == 0) return true;
        const double value = figures.*column.value;
        return value >= 0 && value < 0.1;
    });
}

}  // namespace blkscope::iostat
