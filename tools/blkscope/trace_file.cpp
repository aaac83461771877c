#include "tools/blkscope/trace_file.hpp"

#include <fmt/format.h>

#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "tools/program/print.hpp"
#include "tools/program/read_file.hpp"
#include "trace/readers.hpp"

namespace blkscope {

trace::Trace read_trace_file(const std::string& path, const std::string& device) {
    const std::string bytes = program::read_file(path, trace_bytes_max);
    auto trace = trace::decode_any(std::as_bytes(std::span(bytes)), device);
    if (!trace) throw std::runtime_error(path + ": " + trace.error());
    return std::move(*trace);
}

void show_notes(const trace::Trace& trace, std::string_view command) {
    for (const std::string& note : trace.notes) {
        program::complain(fmt::format("blkscope: {}: {}\n", command, note));
    }
}

}  // namespace blkscope
