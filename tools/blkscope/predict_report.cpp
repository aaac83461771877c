// The reports of blkscope predict, from the library of iostat.
#include <fmt/format.h>

#include <optional>

#include "tools/blkscope/predict_command.hpp"
#include "tools/iostat/interval.hpp"
#include "tools/iostat/json.hpp"
#include "tools/iostat/report.hpp"
#include "tools/program/json.hpp"

namespace blkscope {
namespace {

using program::Json;

// As iostat -xnq.
iostat::Options line_options() {
    iostat::Options options;
    options.mode = iostat::Mode::extended;
    options.names_last = true;
    options.percentiles = true;
    return options;
}

// A device as iostat has read it, with the prediction as its whole life.
iostat::Device device_of(const std::string& name, const virtual_time::Figures& figures) {
    iostat::Device device;
    device.module = "predict";
    device.name = name;
    device.crtime = figures.began;
    device.snaptime = figures.ended;
    device.io = figures.io;
    for (const virtual_time::NamedHistogram& each : figures.histograms) {
        device.histograms.emplace(each.name, iostat::Histogram{.shape = each.shape,
                                                               .counts = each.counts,
                                                               .unit = each.unit,
                                                               .crtime = figures.began,
                                                               .sum = each.sum});
    }
    return device;
}

// None if the file of the trace does not say how long requests took.
std::optional<virtual_time::Figures> recorded_figures(const Scenario& scenario) {
    if (scenario.drawn) return {};
    virtual_time::Figures figures =
        virtual_time::account(scenario.requests, scenario.setting.size_bytes);
    if (figures.io.wlentime == 0 && figures.io.rlentime == 0) return {};
    return figures;
}

std::string rate_text(std::optional<double> per_s) {
    return per_s ? fmt::format("{:.0f} requests/s", *per_s) : "all at one moment";
}

// What was asked and what was served.
std::string shortfall_text(const PredictedRun& run) {
    const auto asked = run.asked_per_s();
    const auto served = run.served_per_s();
    if (asked && served)
        return fmt::format("it serves {:.0f} of {:.0f} requests/s", *served, *asked);
    return fmt::format("requests arrive {}, and it serves {}", rate_text(asked), rate_text(served));
}

std::string one_report(const Scenario& scenario, const PredictedRun& run) {
    iostat::Snapshot devices;
    if (const auto recorded = recorded_figures(scenario)) {
        devices.push_back(device_of("recorded", *recorded));
    }
    devices.push_back(device_of("predicted", run.figures));
    iostat::Options options = line_options();
    options.waits = true;
    std::string text = iostat::Reporter(options).report(devices);
    if (run.keeps_up() || scenario.setting.in_flight > 0) return text;
    return text + fmt::format(
                      "The device does not keep up: {}, and {} were in it when the last one "
                      "arrived.\n",
                      shortfall_text(run), run.figures.in_device);
}

std::string breaking_point(const std::vector<PredictedRun>& runs) {
    const PredictedRun* fastest = nullptr;  // of those with which the device keeps up
    const PredictedRun* slowest = nullptr;  // of the others
    for (const PredictedRun& run : runs) {
        const PredictedRun*& found = run.keeps_up() ? fastest : slowest;
        const bool further = found != nullptr &&
                             (run.keeps_up() ? run.speed > found->speed : run.speed < found->speed);
        if (found == nullptr || further) found = &run;
    }
    if (slowest == nullptr) return "The device keeps up at each of these speeds.\n";
    const auto text_of = [](const PredictedRun& run) {
        return fmt::format("speed {} ({})", run.speed, rate_text(run.asked_per_s()));
    };
    if (fastest == nullptr) return fmt::format("The device breaks below {}.\n", text_of(*slowest));
    return fmt::format("The device keeps up at {}, and breaks at {}.\n", text_of(*fastest),
                       text_of(*slowest));
}

std::string speeds_report(const std::vector<PredictedRun>& runs) {
    iostat::Snapshot devices;
    std::vector<std::string> asked;
    for (const PredictedRun& run : runs) {
        const auto rate = run.asked_per_s();
        asked.push_back(rate ? fmt::format("{:.0f}", *rate) : "-");
        devices.push_back(device_of(
            fmt::format("x{}{}", run.speed, run.keeps_up() ? "" : " breaks"), run.figures));
    }
    return iostat::Reporter(line_options()).report(devices) +
           fmt::format("Requests/s that arrive at these speeds: {}\n", fmt::join(asked, ", ")) +
           breaking_point(runs);
}

Json device_json(const std::string& name, const virtual_time::Figures& figures) {
    const iostat::Snapshot devices{device_of(name, figures)};
    const iostat::Processors none;
    const iostat::Interval interval{nullptr, devices, nullptr, none};
    return iostat::json_device(interval, devices.front(), line_options());
}

Json json_of(std::optional<double> figure) {
    return figure ? Json(*figure) : Json();
}

Json run_json(const PredictedRun& run) {
    return {{"speed", run.speed},
            {"requests", run.figures.requests},
            {"asked_per_s", json_of(run.asked_per_s())},
            {"served_per_s", json_of(run.served_per_s())},
            {"keeps_up", run.keeps_up()},
            {"waiting_at_last_arrival", run.figures.waiting},
            {"in_device_at_last_arrival", run.figures.in_device},
            {"gave_up", run.figures.gave_up},
            {"device", device_json("predicted", run.figures)}};
}

}  // namespace

std::string predicted_text(const Scenario& scenario, const std::vector<PredictedRun>& runs) {
    return runs.size() == 1 ? one_report(scenario, runs.front()) : speeds_report(runs);
}

std::string predicted_json(const Scenario& scenario, const std::vector<PredictedRun>& runs) {
    const virtual_time::Setting& setting = scenario.setting;
    const Behaviour& behaviour = setting.behaviour;
    Json all = Json::array();
    for (const PredictedRun& run : runs) all.push_back(run_json(run));
    const auto recorded = recorded_figures(scenario);
    const Json report{{"schema", "blkscope.predict/1"},
                      {"seed", behaviour.seed},
                      {"model", behaviour.model ? Json(behaviour.model->text()) : Json()},
                      {"limit", behaviour.limits ? Json(behaviour.limits->text()) : Json()},
                      {"queue_depth", setting.queue_depth},
                      {"size_bytes", scenario.size_is_known ? Json(setting.size_bytes) : Json()},
                      {"closed", setting.in_flight > 0 ? Json(setting.in_flight) : Json()},
                      {"warnings", scenario.warnings},
                      {"recorded", recorded ? device_json("recorded", *recorded) : Json()},
                      {"runs", all}};
    return report.line() + "\n";
}

}  // namespace blkscope
