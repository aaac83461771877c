// blkscope predict: what a modelled device would do with a trace or with drawn requests.
//
//     a trace ───┐                             ┌─▶ the report of iostat -xnqw
//                ├─▶ Scenario ─▶ virtual time ─┼─▶ a line for each speed, and where it breaks
//     --arrivals ┘                             └─▶ JSON
//
// The header of the trace has the model, limits, depth, size and seed that the command line does not
// give. A model or limits of the header also begin where those of the device were.
//
// Threads: one.
// Errors:  std::invalid_argument for bad input, of which the exit status is 2. std::system_error if
//          the trace cannot be read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "blockdev/virtual_time/prediction.hpp"
#include "tools/blkscope/loads.hpp"

namespace CLI {
class App;
}

namespace blkscope {

struct PredictCommand {
    std::string trace;     // a file
    std::string of_device;  // of this device in the file; empty: it has one
    std::string arrivals;  // as poisson:8000
    std::optional<uint32_t> closed;
    std::string duration;  // as 60s; empty: all of a trace, or a minute
    std::string mix = "read=1";
    std::string bytes = "4K";
    bool sequential = false;
    std::string size;  // of the device
    std::string model;
    std::string limit;
    std::optional<uint32_t> queue_depth;
    std::string speeds = "1";
    std::optional<uint64_t> seed;
    bool json = false;
};

/// A prediction that is ready to run at any speed.
struct Scenario {
    virtual_time::Setting setting;
    bool size_is_known = true;             // else the size of the setting only bounds the requests
    std::optional<LoadSpec> drawn;         // else the requests
    std::vector<trace::Request> requests;  // of a trace, in the order of the device
    std::vector<double> speeds;
    std::vector<std::string> warnings;
};

[[nodiscard]] Scenario scenario_of(const PredictCommand& command);

struct PredictedRun {
    double speed = 1;
    virtual_time::Figures figures;

    /// Requests a second that arrived. None if all arrived at one moment.
    [[nodiscard]] std::optional<double> asked_per_s() const;
    /// Requests a second from the first arrival to the last end. None if that is one moment.
    [[nodiscard]] std::optional<double> served_per_s() const;
    /// Whether the device served as many requests as it was asked for. So the requests did not stay
    /// for longer and longer, in its wait queue, at its limits or at the servers of its model.
    [[nodiscard]] bool keeps_up() const;
};

[[nodiscard]] std::vector<PredictedRun> run_scenario(const Scenario& scenario);

/// The text, or one line of JSON.
[[nodiscard]] std::string predicted_text(const Scenario& scenario,
                                         const std::vector<PredictedRun>& runs);
[[nodiscard]] std::string predicted_json(const Scenario& scenario,
                                         const std::vector<PredictedRun>& runs);

/// Adds the subcommand, which fills `command` when it is parsed. Borrows `command` until `app` is
/// destroyed.
void add_predict(CLI::App& app, PredictCommand& command);

void predict(const PredictCommand& command);

}  // namespace blkscope
