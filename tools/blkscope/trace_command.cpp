#include "tools/blkscope/trace_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <csignal>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "blockdev/model/grammar.hpp"
#include "tools/blkscope/control_client.hpp"
#include "tools/blkscope/control_request.hpp"
#include "tools/blkscope/hex.hpp"
#include "tools/blkscope/trace_file.hpp"
#include "tools/program/print.hpp"
#include "tools/program/signals.hpp"
#include "trace/file.hpp"
#include "trace/formats.hpp"
#include "trace/model_state.hpp"
#include "trace/record.hpp"

namespace blkscope {
namespace {

// The recorder of a busy worker holds a tenth of a second.
constexpr hrtime_t pause_ns = 20'000'000;
constexpr size_t requests_max = size_t{8} << 20;

// ---- From a server ----

class Collection {
  public:
    explicit Collection(const std::string& device) : server_(device) {
        request_.command = ControlRequest::Command::trace;
        request_.device = device;
        const StrictJson answer = server_.ask(request_);
        heads_ = answer.at("next").get<std::vector<uint64_t>>();
        trace_.realtime_ns = answer.at("realtime_ns").get<int64_t>();
        trace_.properties = answer.at("properties").get<std::map<std::string, std::string>>();
    }

    /// Takes what was recorded before this object was made. Records that were overwritten earlier
    /// were never to be had, and do not count as lost.
    void take_recorded() {
        request_.from.emplace();
        ask();
        trace_.lost = 0;
        while (!reaches(heads_)) ask();
    }

    /// Takes what is recorded from the object's making on, until `end` or a signal.
    void take_until(hrtime_t end) {
        request_.from = heads_;
        while (monotonic_ns() < end && program::ending_signal() == 0) {
            if (ask() == 0) {
                static_cast<void>(program::sleep_until(std::min(end, monotonic_ns() + pause_ns)));
            }
        }
        const ControlRequest where{.command = request_.command, .device = request_.device};
        const StrictJson answer = server_.ask(where);
        heads_ = answer.at("next").get<std::vector<uint64_t>>();
        while (!reaches(heads_)) ask();
    }

    [[nodiscard]] trace::Trace& trace() { return trace_; }

  private:
    /// Asks once. Returns the number of records that the answer has passed.
    uint64_t ask() {
        assert(request_.from.has_value());
        const StrictJson answer = server_.ask(request_);
        auto next = answer.at("next").get<std::vector<uint64_t>>();
        uint64_t passed = 0;
        for (size_t i = 0; i < next.size(); ++i) {
            passed += next[i] - (i < request_.from->size() ? (*request_.from)[i] : 0);
        }
        trace_.lost += answer.at("lost").get<uint64_t>();
        add(answer.at("records").get<std::string>());
        request_.from = std::move(next);
        if (trace_.requests.size() <= requests_max) return passed;
        throw std::runtime_error("trace: more than 8 Mi requests; ask for a shorter time");
    }

    void add(const std::string& hex) {
        const auto bytes = bytes_of_hex(hex);
        if (!bytes || bytes->size() % trace::record_bytes != 0) {
            throw std::runtime_error("the server's answer: no records");
        }
        for (size_t at = 0; at < bytes->size(); at += trace::record_bytes) {
            const std::span<const std::byte> record(bytes->data() + at, trace::record_bytes);
            auto request = trace::decode(record.first<trace::record_bytes>());
            if (!request) throw std::runtime_error("the server's answer: " + request.error());
            trace_.requests.push_back(*request);
        }
    }

    [[nodiscard]] bool reaches(const std::vector<uint64_t>& heads) const {
        const std::vector<uint64_t>& from = *request_.from;
        for (size_t i = 0; i < heads.size(); ++i) {
            if (i >= from.size() || from[i] < heads[i]) return false;
        }
        return true;
    }

    ServerConnection server_;
    ControlRequest request_;
    std::vector<uint64_t> heads_;
    trace::Trace trace_;
};

trace::Trace from_server(const TraceCommand& command) try {
    Collection collection(command.device);
    if (command.from_now.empty()) {
        collection.take_recorded();
    } else {
        const auto wait = static_cast<hrtime_t>(model::parse_time(command.from_now).ns());
        program::watch_signals({SIGINT, SIGTERM});
        collection.take_until(monotonic_ns() + wait);
    }
    trace::Trace trace = std::move(collection.trace());
    trace::sort_by_arrival(trace.requests);
    trace::settle(trace);
    return trace;
} catch (const StrictJson::exception& error) {
    throw std::runtime_error(std::string("the server's answer: ") + error.what());
}

// ---- To a file ----

void write_file(const std::string& path, const std::string& content) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << content;
    file.flush();
    if (!file) throw std::system_error(errno, std::generic_category(), path);
}

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
            write_file(fmt::format("{}.blktrace.{}", command.output, worker), content);
        }
        return;
    }
    const std::string content = content_of(trace, command.format);
    command.output.empty() ? program::print(content) : write_file(command.output, content);
}

void check(const TraceCommand& command) {
    if (command.device.empty() == command.read.empty()) {
        throw std::invalid_argument("trace: name one device, or a file with --read");
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
    trace::Trace trace =
        command.read.empty() ? from_server(command) : read_trace_file(command.read);
    if (command.last && trace.requests.size() > *command.last) {
        trace::drop_first(trace, trace.requests.size() - static_cast<size_t>(*command.last));
    }
    write(trace, command);
    if (trace.lost > 0) {
        program::complain(fmt::format(
            "blkscope: trace: {} records were overwritten before they were read\n", trace.lost));
    }
    if (command.output.empty()) return;
    program::complain(fmt::format("{} requests written\n", trace.requests.size()));
}

}  // namespace blkscope
