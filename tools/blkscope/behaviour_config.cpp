#include "tools/blkscope/behaviour_config.hpp"

#include <fmt/format.h>

#include <random>
#include <stdexcept>
#include <system_error>

#include "driver/nbd/text.hpp"
#include "tools/blkscope/histogram_file.hpp"

namespace blkscope {
model::Histogram read_measured(const std::string& file, std::string_view operation) try {
    return read_histogram(file, operation);
} catch (const std::system_error& error) {
    throw std::invalid_argument(error.what());
}

model::ModelSpec parse_model(std::string_view text) {
    return model::ModelSpec::parse(text, read_measured);
}

model::ModelSpec parse_model(const std::vector<std::string>& items) {
    return model::ModelSpec::parse_items(items, read_measured);
}

model::FaultRule parse_fault(std::string_view text, uint64_t size_bytes) {
    const std::string_view operation = text.substr(0, text.find(':'));
    return model::FaultRule::parse(
        text, size_bytes, [&](const std::string& file) { return read_measured(file, operation); });
}

uint64_t draw_seed() {
    return std::random_device()();
}

Behaviour behaviour_of(const BehaviourConfig& config, uint64_t size_bytes) {
    if (config.faults.size() > faults_max) {
        throw std::invalid_argument(fmt::format("more than {} faults for a device", faults_max));
    }
    Behaviour behaviour;
    behaviour.model = config.model;
    behaviour.limits = config.limits;
    behaviour.client_limits = config.client_limits;
    for (const std::string& rule : config.faults) {
        behaviour.faults.push_back(parse_fault(rule, size_bytes));
    }
    behaviour.seed = config.seed ? *config.seed : draw_seed();
    return behaviour;
}

std::string text_of(const Behaviour& behaviour) {
    std::vector<std::string> parts;
    if (behaviour.model) parts.push_back("model " + behaviour.model->text());
    if (behaviour.limits) parts.push_back("limit " + behaviour.limits->text());
    if (behaviour.client_limits) parts.push_back("client-limit " + behaviour.client_limits->text());
    for (const model::FaultRule& rule : behaviour.faults) parts.push_back("fault " + rule.text());
    const bool draws = (behaviour.model && !behaviour.model->seed) || !behaviour.faults.empty();
    if (draws) parts.push_back(fmt::format("seed {}", behaviour.seed));
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string means_of(const Behaviour& behaviour) {
    const std::string means = behaviour.model ? behaviour.model->means() : std::string();
    return means.empty() ? means : "mean times: " + means;
}

std::vector<std::string> warnings_of(const Behaviour& behaviour) {
    std::vector<std::string> lines;
    if (behaviour.model) lines = behaviour.model->warnings();
    for (const model::FaultRule& rule : behaviour.faults) {
        if (std::string line = rule.warning(); !line.empty()) lines.push_back(std::move(line));
    }
    return lines;
}

// A FILE may have an '@', so only one in front of the grammar's marks ends a name.
Addressed addressed(std::string_view text, const std::vector<std::string>& names) {
    Addressed found{{}, text};
    for (const std::string& name : names) {
        if (name.size() <= found.name.size() || !text.starts_with(name + "@")) continue;
        found = {text.substr(0, name.size()), text.substr(name.size() + 1)};
    }
    const size_t at = text.find('@');
    if (found.name.empty() && at < text.find_first_of("=,:;")) {
        throw std::invalid_argument(fmt::format("'{}': there is no export '{}'",
                                                nbd::printable(text),
                                                nbd::printable(text.substr(0, at))));
    }
    return found;
}

}  // namespace blkscope
