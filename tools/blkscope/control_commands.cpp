#include "tools/blkscope/control_commands.hpp"

#include <fmt/format.h>

#include <cassert>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "base/log_line.hpp"
#include "tools/blkscope/behaviour_config.hpp"
#include "tools/blkscope/config.hpp"
#include "tools/blkscope/control_client.hpp"
#include "tools/blkscope/control_request.hpp"
#include "tools/blkscope/server_answer.hpp"
#include "tools/program/nearest.hpp"
#include "tools/program/options.hpp"

namespace blkscope {
namespace {

using Command = ControlRequest::Command;

// Reads a FILE, and keeps its histogram for the request.
class Collector {
  public:
    explicit Collector(ControlRequest& request) : request_(request) {}

    model::Histogram operator()(const std::string& file, std::string_view operation) const {
        model::Histogram histogram = read_measured(file, operation);
        request_.histograms.push_back({file, std::string(operation), histogram});
        return histogram;
    }

  private:
    ControlRequest& request_;
};

void print_warnings(const StrictJson& answer) {
    for (const StrictJson& warning : answer.at("warnings")) log_line(warning.get<std::string>());
}

[[noreturn]] void refuse_setting(const std::string& setting, const std::string& name) {
    const auto near =
        program::nearest(name, {"model", "limit", "client-limit", "queue-depth", "order"});
    throw std::invalid_argument(
        fmt::format("set: '{}' is none of model=SPEC, limit=SPEC, client-limit=SPEC, queue-depth=N "
                    "and order=arrival|fair, which a running device can change{}",
                    setting, near ? "; the nearest is " + *near : ""));
}

void take_setting(ControlRequest& request, const std::string& setting) {
    const size_t equals = setting.find('=');
    const std::string name = setting.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : setting.substr(equals + 1);
    const auto once = [&](bool given) {
        if (given) throw std::invalid_argument(fmt::format("set: {} is given twice", name));
    };
    if (name == "model") {
        once(request.model.has_value());
        if (value != "none") model::ModelSpec::parse(value, Collector(request));
        request.model = value;
    } else if (name == "limit" || name == "client-limit") {
        std::optional<std::string>& limit = name == "limit" ? request.limit : request.client_limit;
        once(limit.has_value());
        if (value != "none") model::LimitSpec::parse(value);
        limit = value;
    } else if (name == "queue-depth") {
        once(request.queue_depth.has_value());
        const auto depth = program::decimal<unsigned>(value);
        if (!depth || *depth == 0 || *depth > queue_depth_max) {
            throw std::invalid_argument(
                fmt::format("set: queue-depth '{}' is not 1 to {}", value, queue_depth_max));
        }
        request.queue_depth = depth;
    } else if (name == "order") {
        once(request.order.has_value());
        if (!start_order(value)) {
            throw std::invalid_argument(
                fmt::format("set: order '{}' is neither arrival nor fair", value));
        }
        request.order = value;
    } else {
        refuse_setting(setting, name);
    }
}

void add_fault(const FaultCommand& command) {
    if (!command.argument) throw std::invalid_argument("fault add: the rule is missing");
    ControlRequest request{.command = Command::fault_add, .device = command.device};
    request.rule = *command.argument;
    const std::string operation = request.rule.substr(0, request.rule.find(':'));
    model::FaultRule::parse(request.rule, any_size_bytes, [&](const std::string& file) {
        return Collector(request)(file, operation);
    });
    const StrictJson answer = ask_server(request);
    print_warnings(answer);
    fmt::print("{}: fault {}: {}\n", command.device, count_at(answer, "id"),
               answer.at("rule").get<std::string>());
}

void list_faults(const FaultCommand& command) {
    if (command.argument) throw std::invalid_argument("fault list: nothing may follow");
    const StrictJson answer =
        ask_server({.command = Command::fault_list, .device = command.device});
    if (answer.at("faults").empty()) return;
    fmt::print("{:>6} {:>10}  {}\n", "fault", "hits", "rule");
    for (const StrictJson& fault : answer.at("faults")) {
        fmt::print("{:>6} {:>10}  {}\n", count_at(fault, "id"), count_at(fault, "hits"),
                   fault.at("rule").get<std::string>());
    }
}

void clear_faults(const FaultCommand& command) {
    ControlRequest request{.command = Command::fault_clear, .device = command.device};
    if (command.argument) {
        request.id = program::decimal<uint32_t>(*command.argument);
        if (!request.id || *request.id == 0) {
            throw std::invalid_argument(
                fmt::format("fault clear: '{}' is no number of a fault", *command.argument));
        }
    }
    const StrictJson answer = ask_server(request);
    fmt::print("{}: {} cleared\n", command.device, count_at(answer, "removed"));
}

void print_losses(const StrictJson& answer) {
    for (const StrictJson& loss : answer.at("devices")) {
        fmt::print("{}: {}\n", loss.at("device").get<std::string>(),
                   loss.at("line").get<std::string>());
    }
}

// The server of another version may answer without a member.
template <class Run>
void with_answer(Run run) try {
    run();
} catch (const StrictJson::exception& error) {
    refuse_answer(error.what());
}

}  // namespace

void set(const SetCommand& command) {
    ControlRequest request{.command = Command::set, .device = command.device};
    for (const std::string& setting : command.settings) take_setting(request, setting);
    with_answer([&] {
        const StrictJson answer = ask_server(request);
        print_warnings(answer);
        for (const StrictJson& change : answer.at("changes")) {
            fmt::print("{}: {}\n", command.device, change.get<std::string>());
        }
    });
}

void fault(const FaultCommand& command) {
    with_answer([&] {
        if (command.action == "add") return add_fault(command);
        if (command.action == "list") return list_faults(command);
        assert(command.action == "clear");
        clear_faults(command);
    });
}

void clear_error(const std::string& device) {
    ask_server({.command = Command::clear_error, .device = device});
    fmt::print("{}: no error of a sync holds\n", device);
}

void crash(const CrashCommand& command) {
    if (command.device.empty() != command.all) {
        throw std::invalid_argument("crash: name one device, or give --all");
    }
    const ControlRequest request{
        .command = Command::crash, .device = command.device, .all = command.all};
    with_answer([&] {
        if (!command.all) return print_losses(ask_server(request));
        if (ask_servers_with_crash_cache(request, print_losses) > 0) return;
        throw std::runtime_error("crash: no device has a crash cache");
    });
}

}  // namespace blkscope
