// BehaviourConfig: which model, limits and faults an export has, as the user said it.
//
//     --model, --limit, --fault ──┐
//     "model", "limit", "faults" ─┼─▶ BehaviourConfig ── behaviour_of(size) ──▶ Behaviour ─▶ Device
//     blkscope set, fault ────────┘
//
// Whether a rule can match depends on the size of the device. Rules are therefore kept as texts
// until the device's backing is open.
//
// Units:     bytes.
// Ownership: values.
// Threads:   any.
// Errors:    std::invalid_argument with one line; also for a FILE that cannot be read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blockdev/device/behaviour.hpp"

namespace blkscope {

/// The rules of one device; more are refused.
inline constexpr size_t faults_max = 64;

struct BehaviourConfig {
    std::optional<model::ModelSpec> model = {};
    std::optional<model::LimitSpec> limits = {};
    std::optional<model::LimitSpec> client_limits = {};
    std::vector<std::string> faults = {};
    std::optional<uint64_t> seed = {};  // none: one is drawn

    bool operator==(const BehaviourConfig&) const = default;
};

/// The model of a text, or of the items of a model. An item may have a FILE, which is read.
model::ModelSpec parse_model(std::string_view text);
model::ModelSpec parse_model(const std::vector<std::string>& items);
/// The histogram of a FILE; also a file that cannot be read is std::invalid_argument.
model::Histogram read_measured(const std::string& file, std::string_view operation);
/// The size of a device that any rule may match. For a check of the rule's form.
inline constexpr uint64_t any_size_bytes = uint64_t{1} << 62;
/// The rule for a device of this size. A FILE is read.
model::FaultRule parse_fault(std::string_view text, uint64_t size_bytes);

/// The behaviour of a device of this size. Draws the seed if there is none.
Behaviour behaviour_of(const BehaviourConfig& config, uint64_t size_bytes);

/// A setting as `blkscope set` takes it: "limit=iops=100", or "limit=none".
template <class Spec>
std::string setting_text(const char* name, const std::optional<Spec>& spec) {
    return std::string(name) + "=" + (spec ? spec->text() : "none");
}

/// The behaviour in one line; empty if it changes nothing.
std::string text_of(const Behaviour& behaviour);
/// The mean times that the line does not say; empty if there are none.
std::string means_of(const Behaviour& behaviour);
/// Lines for the log about what is allowed but unwise.
std::vector<std::string> warnings_of(const Behaviour& behaviour);

/// A random seed that is short enough to type.
uint64_t draw_seed();

/// A text of the command line, and the export that it is for. Without a name it is for all.
struct Addressed {
    std::string_view name;
    std::string_view text;
};
/// "NAME@TEXT" with one of the names, or "TEXT".
Addressed addressed(std::string_view text, const std::vector<std::string>& names);

}  // namespace blkscope
