#include "iostat/format.hpp"

#include <fmt/format.h>
#include <langinfo.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace blkscope::iostat {

namespace {

// The layouts that a column appears in.
constexpr unsigned in_extended = 1;  // -x
constexpr unsigned in_named = 2;     // -xn
constexpr unsigned in_transfers = 4;
constexpr unsigned in_rates = 8;

enum class Quantity {
    plain,
    rate,  // with -I the heading's last letter becomes i
    data   // a rate; with -M the heading's first letter becomes M
};

struct Column {
    std::string_view heading;
    double Figures::*value;
    Quantity quantity;
    int width;
    int precision;
    unsigned layouts;
};

constexpr std::array columns{
    Column{"r/s", &Figures::reads, Quantity::rate, 6, 1, in_extended | in_named},
    Column{"w/s", &Figures::writes, Quantity::rate, 6, 1, in_extended | in_named},
    Column{"kr/s", &Figures::data_read, Quantity::data, 6, 1, in_extended | in_named},
    Column{"kw/s", &Figures::data_written, Quantity::data, 6, 1, in_extended | in_named},
    Column{"wait", &Figures::wait, Quantity::plain, 4, 1, in_extended | in_named},
    Column{"actv", &Figures::actv, Quantity::plain, 4, 1, in_extended | in_named},
    Column{"svc_t", &Figures::svc_t, Quantity::plain, 6, 1, in_extended},
    Column{"wsvc_t", &Figures::wsvc_t, Quantity::plain, 6, 1, in_named},
    Column{"asvc_t", &Figures::asvc_t, Quantity::plain, 6, 1, in_named},
    Column{"%w", &Figures::w_percent, Quantity::plain, 3, 0, in_extended | in_named},
    Column{"%b", &Figures::b_percent, Quantity::plain, 3, 0, in_extended | in_named},
    Column{"kps", &Figures::data, Quantity::data, 3, 0, in_transfers},
    Column{"tps", &Figures::transfers, Quantity::rate, 3, 0, in_transfers},
    Column{"serv", &Figures::svc_t, Quantity::plain, 4, 0, in_transfers},
    Column{"rps", &Figures::reads, Quantity::rate, 3, 0, in_rates},
    Column{"wps", &Figures::writes, Quantity::rate, 3, 0, in_rates},
    Column{"util", &Figures::b_percent, Quantity::plain, 4, 1, in_rates},
};

constexpr std::string_view title = "extended device statistics";
constexpr size_t name_slot = 13;  // of the 14 that a device has in a horizontal line

unsigned layout(const Options& options) {
    switch (options.mode) {
        case Mode::extended:
            return options.names_last ? in_named : in_extended;
        case Mode::transfers:
            return in_transfers;
        case Mode::rates:
            return in_rates;
    }
    return 0;
}

std::string heading(const Column& column, const Options& options) {
    std::string text(column.heading);
    if (options.counts && column.quantity != Quantity::plain) text.back() = 'i';
    if (options.megabytes && column.quantity == Quantity::data) text.front() = 'M';
    return text;
}

// What stands in the layout's columns, each through `cell(column, width)`; width 0 is unpadded.
template <typename Cell>
std::vector<std::string> cells(const Options& options, Cell cell) {
    std::vector<std::string> texts;
    for (const Column& column : columns) {
        if ((column.layouts & layout(options)) == 0) continue;
        texts.push_back(cell(column, options.comma_separated ? 0 : column.width));
    }
    return texts;
}

std::vector<std::string> heading_cells(const Options& options) {
    return cells(options, [&](const Column& column, int width) {
        return fmt::format("{:>{}}", heading(column, options), width);
    });
}

std::vector<std::string> value_cells(const Figures& figures, const Options& options) {
    return cells(options, [&](const Column& column, int width) {
        return fmt::format("{:{}.{}f}", figures.*column.value, width, column.precision);
    });
}

// A vertical line. The name is cut and padded where it leads, and as it is where it ends the line.
std::string join_vertical(std::vector<std::string> cells, std::string_view name, size_t name_width,
                          const Options& options) {
    if (options.comma_separated) {
        cells.insert(options.names_last ? cells.end() : cells.begin(), std::string(name));
        return fmt::format("{}\n", fmt::join(cells, ","));
    }
    const std::string middle = fmt::format("{}", fmt::join(cells, " "));
    if (options.names_last) return fmt::format(" {} {}\n", middle, name);
    return fmt::format("{:<{}.{}} {} \n", name, name_width, name_width, middle);
}

// Centred over a header of `width` characters; with -n seven blanks fewer follow.
std::string centred_title(size_t width, const Options& options) {
    const size_t before = (width - title.size()) / 2;
    const size_t after = width - title.size() - before - (options.names_last ? 7 : 0);
    return fmt::format("{:{}}{}{:{}}\n", "", before, title, "", after);
}

std::string join_horizontal(const std::vector<std::string>& cells, const Options& options) {
    if (options.comma_separated) return fmt::format("{}", fmt::join(cells, ","));
    return fmt::format("{}  ", fmt::join(cells, " "));
}

// Centred by way of its right edge: six columns plus half the name.
std::string centred_name(const std::string& name, const Options& options) {
    if (options.comma_separated) return name;
    const std::string placed = fmt::format("{:>{}}", name, 6 + name.size() / 2);
    return fmt::format("{:<{}.{}} ", placed, name_slot, name_slot);
}

// The blocks of a horizontal line, which bring their own blanks.
std::string join_blocks(const std::vector<std::string>& blocks, const Options& options) {
    return fmt::format("{}\n", fmt::join(blocks, options.comma_separated ? "," : ""));
}

}  // namespace

std::string vertical_header(size_t name_width, const Options& options) {
    const std::string header = join_vertical(heading_cells(options), "device", name_width, options);
    if (options.comma_separated) return fmt::format("{}\n{}", title, header);
    return centred_title(header.size() - 1, options) + header;  // less the newline
}

std::string vertical_line(const std::string& name, const Figures& figures, size_t name_width,
                          const Options& options) {
    return join_vertical(value_cells(figures, options), name, name_width, options);
}

std::string horizontal_header(const Snapshot& devices, const Options& options) {
    std::vector<std::string> names;
    for (const Device& device : devices) names.push_back(centred_name(device.name, options));
    const std::vector<std::string> headings(devices.size(),
                                            join_horizontal(heading_cells(options), options));
    return join_blocks(names, options) + join_blocks(headings, options);
}

std::string horizontal_line(const std::vector<Figures>& figures, const Options& options) {
    std::vector<std::string> blocks;
    for (const Figures& f : figures) {
        blocks.push_back(join_horizontal(value_cells(f, options), options));
    }
    return join_blocks(blocks, options);
}

bool is_idle(const Figures& figures) {
    return std::ranges::all_of(columns, [&](const Column& column) {
        if ((column.layouts & in_extended) == 0) return true;
        const double value = figures.*column.value;
        return value >= 0 && value < 0.1;
    });
}

std::string stamp_line(std::time_t now, Stamp stamp) {
    switch (stamp) {
        case Stamp::none:
            return {};
        case Stamp::epoch:
            return fmt::format("{}\n", now);
        case Stamp::date:
            break;
    }
    std::tm local{};
    localtime_r(&now, &local);
    std::array<char, 256> text{};
    const size_t length = std::strftime(text.data(), text.size(), nl_langinfo(_DATE_FMT), &local);
    return std::string(text.data(), length) + "\n";
}

}  // namespace blkscope::iostat
