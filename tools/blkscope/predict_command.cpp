#include "tools/blkscope/predict_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "blockdev/backing/backing.hpp"
#include "blockdev/model/grammar.hpp"
#include "tools/blkscope/behaviour_config.hpp"
#include "tools/blkscope/config.hpp"
#include "tools/blkscope/trace_file.hpp"
#include "tools/program/options.hpp"
#include "tools/program/print.hpp"
#include "trace/model_state.hpp"

namespace blkscope {
namespace {

constexpr hrtime_t drawn_ns_default = 60 * ns_per_s;
constexpr const char* size_default = "1T";
constexpr double speed_min = 0.01;
constexpr double speed_max = 1000;
constexpr double drawn_requests_max = 1e9;
constexpr uint64_t seed_default = 1;

[[noreturn]] void refuse_prediction(const std::string& why) {
    throw std::invalid_argument("predict: " + why);
}

// Puts the command's name in front of the reason.
template <class Parse>
auto for_prediction(Parse parse) {
    try {
        return parse();
    } catch (const std::invalid_argument& failure) {
        refuse_prediction(failure.what());
    }
}

// ---- The command line ----

void check_command(const PredictCommand& command) {
    const bool traced = !command.trace.empty();
    if (traced && !command.arrivals.empty()) {
        refuse_prediction("give a trace or --arrivals, not both");
    }
    if (!traced && command.arrivals.empty() && !command.closed) {
        refuse_prediction("give a trace, --arrivals RATE or --closed N");
    }
    if (command.closed && !command.arrivals.empty()) {
        refuse_prediction("--closed sends when a request ends, and has no --arrivals");
    }
    if (command.closed && command.speeds != "1") {
        refuse_prediction("--closed has no times that --speed could change");
    }
    const PredictCommand usual;
    const bool draws = command.mix != usual.mix || command.bytes != usual.bytes;
    if (traced && (draws || command.sequential)) {
        refuse_prediction("--mix, --bytes and --sequential are for --arrivals, not for a trace");
    }
}

std::vector<double> speeds_of(const std::string& text) {
    std::vector<double> speeds;
    for (const std::string_view part : model::split(text, ',')) {
        const double speed = model::parse_positive(part, "speed");
        if (speed < speed_min || speed > speed_max) {
            throw std::invalid_argument(fmt::format("speed '{}': not 0.01 to 1000", part));
        }
        speeds.push_back(speed);
    }
    return speeds;
}

std::optional<hrtime_t> duration_of_prediction(const PredictCommand& command) {
    if (command.duration.empty()) return {};
    const auto ns = static_cast<hrtime_t>(model::parse_time(command.duration).ns());
    if (ns == 0) throw std::invalid_argument("--for is less than a nanosecond");
    return ns;
}

// ---- The trace's header ----

std::optional<std::string> property_of(const trace::Trace& trace, const std::string& key) {
    const auto found = trace.properties.find(key);
    return found == trace.properties.end() ? std::nullopt : std::optional(found->second);
}

// A number of the header, at least 1.
template <class Number>
std::optional<Number> number_property(const trace::Trace& trace, const std::string& key) {
    const auto text = property_of(trace, key);
    if (!text) return {};
    const auto number = program::decimal<Number>(*text);
    if (!number || *number == 0) {
        throw std::invalid_argument(fmt::format("its property {} is no number above 0", key));
    }
    return number;
}

// The command's own model and limits begin anew, with full buckets.
trace::ModelState state_for(const PredictCommand& command, const trace::Trace& trace) {
    auto state = trace::state_of(trace.properties);
    if (!state) throw std::invalid_argument(state.error());
    if (!command.model.empty()) {
        state->drawn = {};
        state->head.reset();
    }
    if (!command.limit.empty()) state->tokens.clear();
    return *state;
}

void add_warnings(const PredictCommand& command, const trace::Trace& trace, Scenario& scenario) {
    scenario.warnings.insert(scenario.warnings.end(), trace.notes.begin(), trace.notes.end());
    const auto recorded = std::ranges::count(scenario.requests, true, &trace::Request::has_stages);
    if (recorded > 0 && static_cast<size_t>(recorded) < scenario.requests.size()) {
        scenario.warnings.push_back(fmt::format(
            "the line 'recorded' is of the {} of {} requests whose start and end are known",
            recorded, scenario.requests.size()));
    }
    const bool has_model = command.model.empty() && trace.properties.contains("model");
    if (has_model && !trace.properties.contains("state_ns")) {
        scenario.warnings.emplace_back(
            "the header of the trace is of an earlier version, and does not say where the model "
            "was; "
            "the draws begin anew");
    }
    if (!command.queue_depth && !trace.properties.contains("queue_depth")) {
        scenario.warnings.push_back(
            fmt::format("the trace does not say the device's queue depth; it is taken to be {}",
                        scenario.setting.queue_depth));
    }
    if (trace.properties.contains("client-limit")) {
        scenario.warnings.emplace_back("limits of clients are not predicted");
    }
    if (trace.lost > 0) {
        scenario.warnings.push_back(fmt::format("the trace lacks {} requests", trace.lost));
    }
    const InFlight most = in_flight(scenario.requests);
    if (command.closed || most.share < 0.5) return;
    scenario.warnings.push_back(fmt::format(
        "the trace has {} requests in flight for {:.0f} % of its time, and never more; its "
        "client sent one when another had ended. --closed {} predicts such a client",
        most.most, 100 * most.share, most.most));
}

// ---- The scenario ----

Behaviour behaviour_of_prediction(const PredictCommand& command, const trace::Trace& trace) {
    Behaviour behaviour;
    const trace::ModelState state = state_for(command, trace);
    behaviour.seed = command.seed.value_or(state.seed.value_or(seed_default));
    behaviour.state = state;
    const auto model = property_of(trace, "model");
    if (!command.model.empty()) {
        behaviour.model = parse_model(command.model);
    } else if (model) {
        behaviour.model = parse_model(*model);
    }
    const auto limit = command.limit.empty() ? property_of(trace, "limit") : command.limit;
    if (limit) behaviour.limits = model::LimitSpec::parse(*limit);
    if (!behaviour.model && !behaviour.limits) {
        throw std::invalid_argument(
            "nothing would take time; give a --model or a --limit, as 'blkscope models' shows "
            "them");
    }
    return behaviour;
}

LoadSpec drawn_load(const PredictCommand& command, const Scenario& scenario) {
    LoadSpec load;
    load.size_bytes = scenario.setting.size_bytes;
    load.seed = scenario.setting.behaviour.seed;
    load.sequential = command.sequential;
    load.request_bytes = model::parse_bytes(command.bytes, "bytes");
    if (load.request_bytes > INT32_MAX) throw std::invalid_argument("--bytes is 2 GiB or more");
    take_mix(command.mix, load);
    load.duration = duration_of_prediction(command).value_or(drawn_ns_default);
    if (command.closed) return load;
    take_arrivals(command.arrivals, load);
    const double requests = load.per_second * static_cast<double>(*load.duration) / 1e9;
    if (requests > drawn_requests_max) {
        throw std::invalid_argument(
            fmt::format("{:.0f} requests are too many; shorten --for", requests));
    }
    return load;
}

trace::Trace trace_of_command(const PredictCommand& command) try {
    return command.trace.empty() ? trace::Trace{}
                                 : read_trace_file(command.trace, command.of_device);
} catch (const std::system_error&) {
    throw;
} catch (const std::runtime_error& damaged) {
    throw std::invalid_argument(damaged.what());
}

// None if neither the command nor the trace says it. A drawn load has a size by default.
std::optional<uint64_t> size_of_device(const PredictCommand& command, const trace::Trace& trace) {
    if (!command.size.empty()) return model::parse_bytes(command.size, "size");
    if (command.trace.empty()) return parse_size(size_default);
    return number_property<uint64_t>(trace, "size_bytes");
}

// How far a head goes is a share of the disk. The other models do not ask for the size.
void require_size(const Behaviour& behaviour) {
    if (!behaviour.model || !behaviour.model->hdd) return;
    throw std::invalid_argument(
        "the times of a disk with a head depend on its size, and the trace does not say it; give "
        "--size");
}

uint32_t depth_of_device(const PredictCommand& command, const trace::Trace& trace) {
    if (command.queue_depth) return *command.queue_depth;
    const auto depth = number_property<uint32_t>(trace, "queue_depth");
    if (depth && *depth > queue_depth_max) {
        throw std::invalid_argument(fmt::format("its queue_depth is above {}", queue_depth_max));
    }
    return depth.value_or(queue_depth_default);
}

std::unique_ptr<virtual_time::Load> load_of(const Scenario& scenario) {
    if (scenario.drawn) return std::make_unique<DrawnLoad>(*scenario.drawn);
    return std::make_unique<TracedLoad>(scenario.requests);
}

}  // namespace

Scenario scenario_of(const PredictCommand& command) {
    check_command(command);
    return for_prediction([&] {
        const trace::Trace trace = trace_of_command(command);
        Scenario scenario;
        scenario.speeds = speeds_of(command.speeds);
        const auto size = size_of_device(command, trace);
        scenario.setting.size_bytes = size.value_or(parse_size(size_default));
        scenario.size_is_known = size.has_value();
        scenario.setting.queue_depth = depth_of_device(command, trace);
        scenario.setting.in_flight = command.closed.value_or(0);
        scenario.setting.behaviour = behaviour_of_prediction(command, trace);
        if (!size) require_size(scenario.setting.behaviour);
        scenario.warnings = warnings_of(scenario.setting.behaviour);
        if (command.trace.empty()) {
            scenario.drawn = drawn_load(command, scenario);
            if (command.closed) scenario.setting.closed_ns = *scenario.drawn->duration;
            return scenario;
        }
        scenario.requests = in_order_of_the_device(trace, scenario.setting.size_bytes,
                                                   duration_of_prediction(command));
        add_warnings(command, trace, scenario);
        return scenario;
    });
}

namespace {

std::optional<double> requests_per_s(uint64_t requests, hrtime_t span) {
    if (span == 0) return {};
    return static_cast<double>(requests) * 1e9 / static_cast<double>(span);
}

}  // namespace

std::optional<double> PredictedRun::asked_per_s() const {
    return requests_per_s(figures.requests, figures.arrived - figures.began);
}

std::optional<double> PredictedRun::served_per_s() const {
    return requests_per_s(figures.requests, figures.elapsed());
}

bool PredictedRun::keeps_up() const {
    return !figures.gave_up && !figures.saturated;
}

namespace {

virtual_time::Figures figures_at(const Scenario& scenario, double speed) {
    virtual_time::Setting setting = scenario.setting;
    setting.speed = speed;
    const auto load = load_of(scenario);
    virtual_time::Figures figures = virtual_time::predict(setting, *load);
    if (setting.in_flight > 0 && figures.gave_up) {
        throw std::invalid_argument(
            "requests that take no time never end a --closed load; give a --model with a time");
    }
    return figures;
}

}  // namespace

std::vector<PredictedRun> run_scenario(const Scenario& scenario) {
    std::vector<PredictedRun> runs;
    for (const double speed : scenario.speeds) {
        runs.push_back({.speed = speed,
                        .figures = for_prediction([&] { return figures_at(scenario, speed); })});
    }
    return runs;
}

void predict(const PredictCommand& command) {
    const Scenario scenario = scenario_of(command);
    for (const std::string& warning : scenario.warnings) {
        program::complain(fmt::format("blkscope: predict: {}\n", warning));
    }
    const std::vector<PredictedRun> runs = run_scenario(scenario);
    program::print(command.json ? predicted_json(scenario, runs) : predicted_text(scenario, runs));
}

}  // namespace blkscope
