#include "tools/blkscope/control_answer.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/log_line.hpp"
#include "blockdev/device/device.hpp"
#include "driver/nbd/text.hpp"
#include "tools/blkscope/behaviour_config.hpp"
#include "tools/blkscope/config.hpp"
#include "tools/blkscope/control_request.hpp"
#include "tools/blkscope/failure.hpp"
#include "tools/blkscope/trace_answer.hpp"
#include "tools/program/json.hpp"

namespace blkscope {
namespace {

using Command = ControlRequest::Command;
using program::Json;

constexpr int failed = 1;

// Bounds the list of added rules: the command takes an answer of a MiB at most. Rules of the
// command line and of the file have no such bound.
constexpr size_t rule_bytes_max = 512;

std::string error_line(std::string_view why, int status) {
    return Json({{"error", why}, {"status", status}}).line();
}

// The histogram that the request has for the file.
const model::Histogram& sent_histogram(const ControlRequest& request, const std::string& file,
                                       std::string_view operation) {
    const auto& all = request.histograms;
    const auto found = std::find_if(all.begin(), all.end(), [&](const SentHistogram& one) {
        return one.file == file && one.operation == operation;
    });
    if (found == all.end()) throw std::invalid_argument("the request has no histogram of it");
    return found->histogram;
}

template <class Parse>
auto unless_none(const std::string& text, Parse parse) -> std::optional<decltype(parse())> {
    if (text == "none") return {};
    return parse();
}

/// One request for one device.
// Whether the peer's standard output is the terminal of our log, as that of a command behind `serve &`.
bool shares_terminal(const nbd::Peer& who) {
    struct stat ours {};
    struct stat theirs {};
    if (isatty(STDERR_FILENO) == 0 || fstat(STDERR_FILENO, &ours) != 0) return false;
    const std::string path = fmt::format("/proc/{}/fd/1", who.pid);
    return stat(path.c_str(), &theirs) == 0 && S_ISCHR(theirs.st_mode) &&
           theirs.st_rdev == ours.st_rdev;
}

class Answer {
  public:
    Answer(Device& device, const nbd::Peer& who, const ControlRequest& request)
        : device_(device), who_(who), request_(request) {}

    Json make() {
        switch (request_.command) {
            case Command::set:
                return set();
            case Command::fault_add:
                return add_fault();
            case Command::fault_list:
                return list_faults();
            case Command::fault_clear:
                return clear_faults();
            case Command::clear_error:
                return clear_error();
            case Command::crash:
            case Command::trace:
            case Command::slow:
                break;  // not of one device alone
            case Command::clients:
                return list_clients();
        }
        throw std::logic_error("no command");
    }

  private:
    Json set();
    Json add_fault();
    Json list_faults() const;
    Json clear_faults();
    Json clear_error();
    Json list_clients() const;
    // The one who asked prints the answer. On the server's own terminal the line would come twice.
    void log(const std::string& what) const {
        if (!shares_terminal(who_)) log_line(device_.name(), ": ", who_.text(), " ", what);
    }

    Device& device_;
    const nbd::Peer& who_;
    const ControlRequest& request_;
};

Json Answer::set() {
    std::vector<std::string> changes;
    std::vector<std::string> warnings;
    std::optional<model::ModelSpec> model;
    if (request_.model) {
        model = unless_none(*request_.model, [&] {
            return model::ModelSpec::parse(
                *request_.model, [&](const std::string& file, std::string_view operation) {
                    return sent_histogram(request_, file, operation);
                });
        });
        if (model) warnings = model->warnings();
        changes.push_back(setting_text("model", model));
    }
    const auto take_limit = [&](const char* name, const std::optional<std::string>& text) {
        std::optional<model::LimitSpec> limits;
        if (!text) return limits;
        limits = unless_none(*text, [&] { return model::LimitSpec::parse(*text); });
        changes.push_back(setting_text(name, limits));
        return limits;
    };
    const auto limits = take_limit("limit", request_.limit);
    const auto client_limits = take_limit("client-limit", request_.client_limit);
    if (request_.queue_depth) {
        changes.push_back(fmt::format("queue-depth={}", *request_.queue_depth));
    }
    std::optional<StartOrder> order;
    if (request_.order) {
        order = start_order(*request_.order);
        if (!order) throw std::invalid_argument("the order is neither arrival nor fair");
        changes.push_back("order=" + *request_.order);
    }
    // All is parsed: from here on nothing fails.
    if (order) device_.set_order(*order);
    if (request_.queue_depth) device_.set_queue_depth(*request_.queue_depth);
    if (request_.limit) device_.set_limits(limits);
    if (request_.client_limit) device_.set_client_limits(client_limits);
    if (request_.model) device_.set_model(std::move(model));
    for (const std::string& change : changes) log("set " + change);
    return {{"ok", true}, {"changes", changes}, {"warnings", warnings}};
}

Json Answer::add_fault() {
    const std::string operation = request_.rule.substr(0, request_.rule.find(':'));
    model::FaultRule rule = model::FaultRule::parse(
        request_.rule, device_.size_bytes(),
        [&](const std::string& file) { return sent_histogram(request_, file, operation); });
    const std::string text = rule.text();
    if (text.size() > rule_bytes_max) {
        throw std::invalid_argument(fmt::format("a rule has {} bytes at most", rule_bytes_max));
    }
    if (device_.faults().size() >= faults_max) {
        throw std::runtime_error(
            fmt::format("{} has {} faults already; clear some", device_.name(), faults_max));
    }
    std::vector<std::string> warnings;
    if (std::string line = rule.warning(); !line.empty()) warnings.push_back(std::move(line));
    const uint32_t id = device_.add_fault(std::move(rule));
    log(fmt::format("added fault {}: {}", id, text));
    return {{"ok", true}, {"id", id}, {"rule", text}, {"warnings", warnings}};
}

Json Answer::list_faults() const {
    Json faults = Json::array();
    for (const model::FaultRules::Entry& entry : device_.faults()) {
        faults.push_back({{"id", entry.id}, {"rule", entry.rule.text()}, {"hits", entry.hits}});
    }
    return {{"ok", true}, {"faults", std::move(faults)}};
}

Json Answer::clear_faults() {
    size_t removed = 1;
    if (!request_.id) {
        removed = device_.faults().size();
        device_.clear_faults();
        log(fmt::format("cleared {} faults", removed));
    } else if (device_.remove_fault(*request_.id)) {
        log(fmt::format("cleared fault {}", *request_.id));
    } else {
        throw std::runtime_error(fmt::format("{} has no fault {}", device_.name(), *request_.id));
    }
    return {{"ok", true}, {"removed", removed}};
}

// The device logs the end of an error, if there was one.
Json Answer::clear_error() {
    if (!device_.clear_sync_error()) {
        throw std::runtime_error(device_.name() +
                                 ": no sync has succeeded since the one that failed; flush first");
    }
    return {{"ok", true}};
}

// The names that no kstat shows.
Json Answer::list_clients() const {
    Json clients = Json::array();
    for (const auto& [client, tls_name] : device_.tls_names()) {
        clients.push_back({{"client", client}, {"tls-name", nbd::printable(tls_name)}});
    }
    return {{"ok", true}, {"clients", std::move(clients)}};
}

size_t find_export(const nbd::Server& server, const std::string& device) {
    for (size_t i = 0; i < server.exports(); ++i) {
        if (server.device(i).name() == device) return i;
    }
    throw std::runtime_error(fmt::format("there is no device '{}'", nbd::printable(device)));
}

std::string line_of(const nbd::PowerLoss& loss) {
    if (!loss.cached) return "power lost: no crash cache, so nothing";
    if (!loss.survival)
        return "power lost: the backing has refused writes, so the data is undefined";
    return "power lost: " + loss.survival->text();
}

Json crash(nbd::Server& server, const nbd::Peer& who, const ControlRequest& request) {
    std::vector<size_t> exports;
    for (size_t i = 0; request.all && i < server.exports(); ++i) exports.push_back(i);
    if (!request.all) exports.push_back(find_export(server, request.device));
    Json devices = Json::array();
    for (const nbd::PowerLoss& loss : server.lose_power(exports)) {
        const std::string line = line_of(loss);
        if (!shares_terminal(who)) log_line(loss.device, ": ", who.text(), " crash: ", line);
        devices.push_back({{"device", loss.device}, {"line", line}});
    }
    return {{"ok", true}, {"devices", std::move(devices)}};
}

Json answer(nbd::Server& server, const nbd::Peer& who, const ControlRequest& request) {
    if (request.command == Command::crash) return crash(server, who, request);
    const size_t index = find_export(server, request.device);
    if (request.command == Command::trace) return answer_trace(server, index, request);
    if (request.command == Command::slow) return answer_slow(server, index, request);
    return Answer(server.device(index), who, request).make();
}

}  // namespace

std::string answer_control(nbd::Server& server, const nbd::Peer& who, std::string_view line) {
    try {
        return answer(server, who, parse_request(line)).line();
    } catch (const std::invalid_argument& error) {
        return error_line(error.what(), bad_usage);
    } catch (const std::exception& error) {
        return error_line(error.what(), failed);
    }
}

}  // namespace blkscope
