#include "tools/blkscope/trace_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cassert>
#include <exception>
#include <stdexcept>
#include <utility>

#include "base/clock.hpp"
#include "blockdev/model/grammar.hpp"
#include "tools/blkscope/control_client.hpp"
#include "tools/blkscope/trace_collection.hpp"
#include "tools/blkscope/trace_file.hpp"
#include "tools/program/print.hpp"
#include "tools/program/replace_file.hpp"
#include "trace/file.hpp"
#include "trace/formats.hpp"
#include "trace/kept.hpp"
#include "trace/model_state.hpp"

namespace blkscope {
namespace {

// The server may end meanwhile. The requests before that may show why, so they are kept.
struct Collected {
    trace::Trace trace;
    std::exception_ptr early_end = nullptr;
};

Collected from_server(const TraceCommand& command) {
    TraceCollection collection(device_or_only_one(command.device, "trace"));
    if (command.from_now.empty()) {
        collection.take_recorded();
        return {collection.result()};
    }
    const auto wait = static_cast<hrtime_t>(model::parse_time(command.from_now).ns());
    TraceCollection* const one = &collection;
    try {
        collect_until({&one, 1}, monotonic_ns() + wait);
    } catch (const std::runtime_error&) {
        Collected before{collection.result(), std::current_exception()};
        if (before.trace.requests.empty()) throw;
        return before;
    }
    return {collection.result()};
}

// ---- To a file ----

std::string content_of(const trace::Trace& trace, const std::string& format) {
    if (format == "csv") return trace::to_csv(trace);
    if (format == "json") return trace::to_json(trace);
    if (format == "perfetto") return trace::to_perfetto(trace);
    if (format == "fio") return trace::to_fio2(trace);
    if (format == "ours") return trace::encode_file(trace);
    assert(format == "fio3");
    auto text = trace::to_fio3(trace);
    if (!text) throw std::runtime_error(text.error().why);
    return std::move(*text);
}

void write(const trace::Trace& trace, const TraceCommand& command) {
    if (command.format == "blktrace") {
        for (const auto& [worker, content] : trace::to_blktrace(trace)) {
            program::replace_file(fmt::format("{}.blktrace.{}", command.output, worker), content);
        }
        return;
    }
    const std::string content = content_of(trace, command.format);
    command.output.empty() ? program::print(content)
                           : program::replace_file(command.output, content);
}

void check(const TraceCommand& command) {
    if (!command.device.empty() && !command.read.empty()) {
        throw std::invalid_argument("trace: name one device, or a file with --read");
    }
    if (command.read.empty() && !command.of_device.empty()) {
        throw std::invalid_argument("trace: --device is for a file with several; see --read");
    }
    if (!command.read.empty() && !command.from_now.empty()) {
        throw std::invalid_argument("trace: --for is for a device, not for a file");
    }
    if (command.format == "blktrace" && command.output.empty()) {
        throw std::invalid_argument("trace: blktrace is a file for each worker; give -o NAME");
    }
    if (command.format == "ours" && command.output.empty() && isatty(STDOUT_FILENO) != 0) {
        throw std::invalid_argument("trace: the format is for files; give -o FILE");
    }
    if (!command.from_now.empty()) static_cast<void>(model::parse_time(command.from_now));
}

}  // namespace

void trace_requests(const TraceCommand& command) {
    check(command);
    Collected collected = command.read.empty()
                              ? from_server(command)
                              : Collected{read_trace_file(command.read, command.of_device)};
    trace::Trace& trace = collected.trace;
    show_notes(trace, "trace");
    if (command.last && trace.requests.size() > *command.last) {
        trace::drop_first(trace, trace.requests.size() - static_cast<size_t>(*command.last));
    }
    write(trace, command);
    if (trace.lost > 0) {
        program::complain(fmt::format(
            "blkscope: trace: {} records were overwritten before they were read\n", trace.lost));
    }
    const trace::Kept kept = trace::kept_by(command.format, trace);
    for (const std::string& line : kept.lines) {
        program::complain(fmt::format("blkscope: trace: {}\n", line));
    }
    if (!command.output.empty()) {
        program::complain(fmt::format("{} requests written\n", kept.requests));
    }
    if (collected.early_end) std::rethrow_exception(collected.early_end);
}

}  // namespace blkscope
