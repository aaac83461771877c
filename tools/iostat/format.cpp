#include "tools/iostat/format.hpp"

#include <fmt/format.h>

#include <string_view>

namespace blkscope::iostat {
namespace {

constexpr std::string_view extended_title = "extended device statistics";
constexpr std::string_view percentiles_title = "percentiles of wait and service, ms";
constexpr std::string_view errors_title = "---- errors --- ";
constexpr size_t errors_title_indent = 11;  // used if there is no text in front

// Joins the parts of a line; the parts have their own blanks.
std::string join_parts(const std::vector<std::string>& parts, const Options& options) {
    return fmt::format("{}\n", fmt::join(parts, options.comma_separated ? "," : ""));
}

void append(std::vector<std::string>& parts, const std::string& side) {
    if (!side.empty()) parts.push_back(side);
}

// A device's part of a vertical line. A name at the front is cut and padded. A name at the end of
// the line stays as it is.
std::string vertical_part(std::vector<std::string> cells, const std::string& name,
                          size_t name_width, const Options& options) {
    if (options.comma_separated) {
        cells.insert(options.names_last ? cells.end() : cells.begin(),
                     name);  // as Solaris: no quotes
        return fmt::format("{}", fmt::join(cells, ","));
    }
    const std::string_view gap = options.mode == Mode::none ? "  " : " ";
    const std::string middle = fmt::format("{}", fmt::join(cells, " "));
    if (options.names_last) return fmt::format("{}{} {}", gap, middle, name);
    return fmt::format("{:<{}.{}}{}{} ", name, name_width, name_width, gap, middle);
}

std::string header_part(size_t name_width, const Options& options) {
    return vertical_part(heading_cells(options), "device", name_width, options);
}

// The title, centred over a header of `width` characters. Fewer blanks follow if the errors' title
// follows, and with -n.
std::string centred_title(std::string_view title, size_t width, const Options& options) {
    const size_t before = (width - title.size()) / 2;
    const size_t after = width - title.size() - before -
                         (options.errors ? errors_title.size() : 0) - (options.names_last ? 7 : 0);
    return fmt::format("{:{}}{}{:{}}", "", before, title, "", after);
}

std::vector<std::string> field_titles(const Options& options) {
    std::vector<std::string> titles;
    if (options.mode == Mode::extended) titles.emplace_back(extended_title);
    if (options.errors) titles.emplace_back("errors");
    return titles;
}

std::vector<std::string> titles(size_t header_width, const Options& options) {
    if (options.comma_separated) return field_titles(options);
    if (options.mode == Mode::percentiles) {
        return {centred_title(percentiles_title, header_width, options)};
    }
    std::vector<std::string> parts;
    size_t indent = options.names_last ? 2 : errors_title_indent;
    if (options.mode == Mode::extended) {
        parts.push_back(centred_title(extended_title, header_width, options));
        indent = options.names_last ? 1 : 0;
    }
    if (options.errors) parts.push_back(fmt::format("{:{}}{}", "", indent, errors_title));
    return parts;
}

bool has_columns(const Options& options) {
    return options.mode == Mode::extended || options.mode == Mode::percentiles || options.errors;
}

// Adds tty and cpu to a vertical line, unless these have lines of their own.
std::string with_sides(std::vector<std::string> parts, const Sides& sides, const Options& options) {
    if (!sides_apart(options)) {
        append(parts, sides.tty);
        append(parts, sides.cpu);
    }
    return join_parts(parts, options);
}

// A line of a horizontal report: terminals, devices, processors.
std::string between_sides(const std::vector<std::string>& blocks, const Sides& sides,
                          const Options& options) {
    std::vector<std::string> parts;
    append(parts, sides.tty);
    parts.insert(parts.end(), blocks.begin(), blocks.end());
    append(parts, sides.cpu);
    return join_parts(parts, options);
}

std::string join_block(const std::vector<std::string>& cells, const Options& options) {
    if (options.comma_separated) return fmt::format("{}", fmt::join(cells, ","));
    return fmt::format("{}  ", fmt::join(cells, " "));
}

// Centres a name over a block of `width` characters. The right edge is the block's middle plus half
// of the name.
std::string centred_name(const std::string& name, size_t width, const Options& options) {
    if (options.comma_separated) return name;
    const size_t slot = width - 1;
    const std::string placed = fmt::format("{:>{}}", name, slot / 2 + name.size() / 2);
    return fmt::format("{:<{}.{}} ", placed, slot, slot);
}

}  // namespace

std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + '"';
}

bool sides_apart(const Options& options) {
    return options.vertical() && (options.names_last || !has_columns(options));
}

std::string vertical_header(size_t name_width, const Options& options) {
    if (!has_columns(options)) return {};
    const std::string header = header_part(name_width, options);
    return with_sides(titles(header.size(), options), title_sides(options), options) +
           with_sides({header}, heading_sides(options), options);
}

std::string vertical_line(const std::string& name, const Figures& figures, size_t name_width,
                          const Options& options, const ProcessorFigures* processors) {
    const Sides sides = processors != nullptr ? value_sides(*processors, options) : Sides{};
    return with_sides({vertical_part(value_cells(figures, options), name, name_width, options)},
                      sides, options);
}

std::string vertical_line_without_device(size_t name_width, const Options& options,
                                         const ProcessorFigures& processors) {
    const std::string empty = options.comma_separated
                                  ? std::string(heading_cells(options).size(), ',')
                                  : std::string(header_part(name_width, options).size(), ' ');
    return with_sides({empty}, value_sides(processors, options), options);
}

std::string horizontal_header(const Snapshot& devices, const Options& options) {
    const std::string headings = join_block(heading_cells(options), options);
    std::vector<std::string> names;
    names.reserve(devices.size());
    for (const Device& device : devices) {
        names.push_back(centred_name(device.name, headings.size(), options));
    }
    return between_sides(names, title_sides(options), options) +
           between_sides(std::vector(devices.size(), headings), heading_sides(options), options);
}

std::string horizontal_line(const std::vector<Figures>& figures, const Options& options,
                            const ProcessorFigures& processors) {
    std::vector<std::string> blocks;
    blocks.reserve(figures.size());
    for (const Figures& f : figures) blocks.push_back(join_block(value_cells(f, options), options));
    return between_sides(blocks, value_sides(processors, options), options);
}

}  // namespace blkscope::iostat
