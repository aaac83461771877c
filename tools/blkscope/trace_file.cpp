#include "tools/blkscope/trace_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/decimal.hpp"
#include "tools/program/print.hpp"
#include "tools/program/read_file.hpp"
#include "trace/readers.hpp"

namespace blkscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view of_processor = ".blktrace.";

// The processor's number in NAME.blktrace.N; none for another name.
std::optional<unsigned> processor_in(std::string_view file, std::string_view name) {
    if (!file.starts_with(name)) return {};
    file.remove_prefix(name.size());
    if (!file.starts_with(of_processor)) return {};
    return decimal<unsigned>(file.substr(of_processor.size()));
}

// The files of blktrace's processors with this name, by their numbers. A processor without events has an
// empty one, which is left out.
std::vector<fs::path> files_of_processors(const fs::path& name) {
    std::map<unsigned, fs::path> files;
    std::error_code error;
    const fs::path folder = name.has_parent_path() ? name.parent_path() : ".";
    for (auto at = fs::directory_iterator(folder, error); !error && at != fs::directory_iterator();
         at.increment(error)) {
        const auto number = processor_in(at->path().filename().native(), name.filename().native());
        std::error_code unknown;
        const auto bytes = fs::file_size(at->path(), unknown);
        if (number && !unknown && bytes > 0) files.emplace(*number, at->path());
    }
    std::vector<fs::path> paths;
    paths.reserve(files.size());
    for (const auto& [number, path] : files) paths.push_back(path);
    return paths;
}

trace::Trace read_files(const std::string& path, const std::vector<fs::path>& files,
                        const std::string& device) {
    std::vector<std::string> texts;
    std::vector<std::span<const std::byte>> bytes;
    size_t left = trace_bytes_max;
    for (const fs::path& file : files) {
        texts.push_back(program::read_file(file, left));
        left -= texts.back().size();
    }
    bytes.reserve(texts.size());
    for (const std::string& text : texts) bytes.push_back(std::as_bytes(std::span(text)));
    auto trace = trace::decode_blktrace(bytes, device);
    if (!trace) throw std::runtime_error(path + ": " + trace.error());
    return std::move(*trace);
}

// Requests begin on one processor and end on another.
void note_others(const std::string& path, trace::Trace& trace) {
    const size_t at = path.rfind(of_processor);
    if (at == std::string::npos || !processor_in(path, path.substr(0, at))) return;
    const std::string name = path.substr(0, at);
    const size_t files = files_of_processors(name).size();
    if (files < 2) return;
    trace.notes.push_back(fmt::format(
        "this is one of the {} files of a trace; name {} to read all processors' events", files,
        name));
}

}  // namespace

trace::Trace read_trace_file(const std::string& path, const std::string& device) {
    if (std::error_code unknown; !fs::exists(path, unknown)) {
        const auto files = files_of_processors(path);
        if (!files.empty()) return read_files(path, files, device);
    }
    const std::string bytes = program::read_file(path, trace_bytes_max);
    auto trace = trace::decode_any(std::as_bytes(std::span(bytes)), device);
    if (!trace) throw std::runtime_error(path + ": " + trace.error());
    note_others(path, *trace);
    return std::move(*trace);
}

void show_notes(const trace::Trace& trace, std::string_view command) {
    for (const std::string& note : trace.notes) {
        program::complain(fmt::format("blkscope: {}: {}\n", command, note));
    }
}

}  // namespace blkscope
