#include "tools/blkscope/control_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "driver/nbd/text.hpp"
#include "tools/blkscope/config.hpp"
#include "tools/blkscope/strict_json.hpp"
#include "tools/program/json.hpp"

namespace blkscope {
namespace {

using Command = ControlRequest::Command;
using program::Json;

constexpr uint64_t over_ns_max = uint64_t{3600} * 1'000'000'000;

constexpr std::array<std::pair<Command, std::string_view>, 9> commands{
    {{Command::set, "set"},
     {Command::fault_add, "fault-add"},
     {Command::fault_list, "fault-list"},
     {Command::fault_clear, "fault-clear"},
     {Command::clear_error, "clear-error"},
     {Command::crash, "crash"},
     {Command::clients, "clients"},
     {Command::trace, "trace"},
     {Command::slow, "slow"}}};

std::string_view name_of(Command command) {
    for (const auto& [each, name] : commands) {
        if (each == command) return name;
    }
    assert(false);
    return {};
}

Command command_of(const std::string& name) {
    for (const auto& [each, known] : commands) {
        if (name == known) return each;
    }
    refuse_key("command", fmt::format("there is no command '{}'", nbd::printable(name)));
}

Json json_of(const SentHistogram& sent) {
    Json buckets = Json::array();
    for (const auto& bucket : sent.histogram.buckets) {
        Json one = Json::array();
        one.push_back(bucket.from_ns);
        one.push_back(bucket.to_ns);
        one.push_back(bucket.count);
        buckets.push_back(std::move(one));
    }
    return {{"file", sent.file}, {"operation", sent.operation}, {"buckets", std::move(buckets)}};
}

// Whether the numbers make a histogram is the matter of the distribution that takes it.
model::Histogram::Bucket bucket_of(const StrictJson& json, const std::string& path) {
    const bool numbers = json.is_array() && json.size() == 3 && json[0].is_number() &&
                         json[1].is_number() && json[2].is_number_unsigned();
    if (!numbers) refuse_key(path, "not [FROM, TO, COUNT]");
    return {json[0].get<double>(), json[1].get<double>(), json[2].get<uint64_t>()};
}

SentHistogram histogram_of(const StrictJson& json, const std::string& path) {
    StrictObject object(json, path);
    SentHistogram sent;
    object.required_text("file", sent.file);
    object.required_text("operation", sent.operation);
    const StrictJson* buckets = object.array("buckets");
    for (size_t i = 0; buckets != nullptr && i < buckets->size(); ++i) {
        sent.histogram.buckets.push_back(
            bucket_of((*buckets)[i], fmt::format("{}.buckets[{}]", path, i)));
    }
    object.no_others();
    return sent;
}

std::vector<SentHistogram> histograms_of(StrictObject& object) {
    std::vector<SentHistogram> histograms;
    const StrictJson* array = object.array("histograms");
    for (size_t i = 0; array != nullptr && i < array->size(); ++i) {
        histograms.push_back(histogram_of((*array)[i], fmt::format("histograms[{}]", i)));
    }
    return histograms;
}

// A text of the grammars. The log prints it in one line.
void require_printable(const std::string& key, const std::string& text) {
    const bool bad = std::any_of(text.begin(), text.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    });
    if (bad) refuse_key(key, "has a control character");
}

std::optional<std::string> optional_text(StrictObject& object, const std::string& key) {
    const StrictJson* json = object.find(key);
    if (json == nullptr) return {};
    if (!json->is_string()) refuse_key(key, "not a string");
    auto text = json->get<std::string>();
    require_printable(key, text);
    return text;
}

// The next record of each worker.
std::optional<std::vector<uint64_t>> records_of(StrictObject& object) {
    const StrictJson* array = object.array("from");
    if (array == nullptr) return {};
    if (array->size() > workers_max) refuse_key("from", "more records than workers");
    std::vector<uint64_t> from;
    for (const StrictJson& number : *array) {
        if (!number.is_number_unsigned()) refuse_key("from", "not a list of whole numbers");
        from.push_back(number.get<uint64_t>());
    }
    return from;
}

std::optional<uint32_t> optional_number(StrictObject& object, const std::string& key,
                                        uint32_t largest) {
    uint32_t number = 0;
    object.number(key, number, largest);
    return number == 0 ? std::nullopt : std::optional(number);
}

}  // namespace

std::string text_of(const ControlRequest& request) {
    Json json = Json::object();
    json.add("command", name_of(request.command));
    request.all ? json.add("all", true) : json.add("device", request.device);
    if (request.model) json.add("model", *request.model);
    if (request.limit) json.add("limit", *request.limit);
    if (request.client_limit) json.add("client-limit", *request.client_limit);
    if (request.queue_depth) json.add("queue-depth", *request.queue_depth);
    if (request.order) json.add("order", *request.order);
    if (request.command == Command::fault_add) json.add("rule", request.rule);
    if (request.id) json.add("id", *request.id);
    if (request.from) json.add("from", *request.from);
    if (request.over_ns) json.add("over-ns", *request.over_ns);
    if (request.since_ns) json.add("since-ns", *request.since_ns);
    if (!request.histograms.empty()) {
        Json histograms = Json::array();
        for (const SentHistogram& sent : request.histograms) histograms.push_back(json_of(sent));
        json.add("histograms", std::move(histograms));
    }
    return json.line();
}

ControlRequest parse_request(std::string_view line) {
    const StrictJson json = parse_strictly(line);
    StrictObject object(json, "");
    ControlRequest request;
    std::string command;
    object.required_text("command", command);
    request.command = command_of(command);
    if (request.command == Command::crash) object.flag("all", request.all);
    if (!request.all) object.required_text("device", request.device);
    switch (request.command) {
        case Command::set:
            request.model = optional_text(object, "model");
            request.limit = optional_text(object, "limit");
            request.client_limit = optional_text(object, "client-limit");
            request.queue_depth = optional_number(object, "queue-depth", queue_depth_max);
            request.order = optional_text(object, "order");
            request.histograms = histograms_of(object);
            break;
        case Command::fault_add:
            object.required_text("rule", request.rule);
            require_printable("rule", request.rule);
            request.histograms = histograms_of(object);
            break;
        case Command::fault_clear:
            request.id = optional_number(object, "id", std::numeric_limits<uint32_t>::max());
            break;
        case Command::trace:
            request.from = records_of(object);
            break;
        case Command::slow:
            object.number("over-ns", request.over_ns);
            if (request.over_ns.value_or(0) > over_ns_max) refuse_key("over-ns", "too large");
            object.number("since-ns", request.since_ns);
            break;
        case Command::fault_list:
        case Command::clear_error:
        case Command::crash:
        case Command::clients:
            break;
    }
    object.no_others();
    return request;
}

}  // namespace blkscope
