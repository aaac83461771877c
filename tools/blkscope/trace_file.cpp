#include "tools/blkscope/trace_file.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/throw_errno.hpp"
#include "tools/program/print.hpp"
#include "trace/readers.hpp"

namespace blkscope {

trace::Trace read_trace_file(const std::string& path, const std::string& device) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw_errno(path);
    const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
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
