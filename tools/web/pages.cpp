#include "tools/web/pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <stdexcept>
#include <variant>

#include "base/run_directory.hpp"
#include "tools/iostat/json.hpp"
#include "tools/kstat/format.hpp"
#include "tools/kstat/glob.hpp"
#include "tools/kstat/reader.hpp"
#include "tools/kstat/report.hpp"
#include "tools/kstat/select.hpp"
#include "tools/program/json.hpp"
#include "tools/web/metrics.hpp"
#include "tools/web/overview.hpp"
#include "tools/web/page.hpp"

namespace blkscope::web {
namespace {

using kstat_command::Reading;

constexpr size_t replies_kept_max = 8;

Body body_of(std::string text) {
    return std::make_shared<const std::string>(std::move(text));
}

Response json_response(std::string text) {
    return {.type = "application/json", .body = body_of(std::move(text))};
}

// Whether a device matches, and what belongs to it. The pattern nbd0 is also for nbd0@4711, as a disk
// may get this name at any time. Without a pattern, all but this machine's own disks.
Shown chosen(const std::optional<std::string>& pattern) {
    if (!pattern) return is_served;
    return [glob = kstat_command::Glob(*pattern)](const DeviceLook& one) {
        return glob.matches(one.disk()) || glob.matches(iostat::without_provider(one.disk()));
    };
}

// Expressions between slashes may take long, so a request has shell patterns only.
bool has_expression(const std::string& operand) {
    return operand.starts_with('/') || operand.find(":/") != std::string::npos;
}

std::vector<Reading> read_kstats(const std::string& operand, kstat_command::Options& options) {
    if (has_expression(operand)) throw std::invalid_argument("only shell patterns, no expressions");
    try {
        options.selectors.push_back(kstat_command::parse_selector(operand));
    } catch (const std::exception&) {
        throw std::invalid_argument("the form is MODULE:INSTANCE:NAME:STATISTIC");
    }
    return kstat_command::Reader(options).read();
}

// Removes who the clients are, and the names and paths of backings.
void hide_identities(std::vector<Reading>& kstats) {
    std::erase_if(kstats, [](const Reading& kstat) {
        return kstat.name.ends_with(",info") || kstat.name.ends_with(",export");
    });
    for (Reading& kstat : kstats) {
        if (!kstat.name.ends_with(",err")) continue;
        std::erase_if(kstat.statistics, [](const kstat_command::Statistic& statistic) {
            return std::holds_alternative<kstat_command::Text>(statistic.value);
        });
    }
}

void hide_identities(Look& look) {
    for (DeviceLook& one : look.devices) {
        one.program.clear();
        one.peer.clear();
        std::erase_if(one.device.errors, [](const iostat::ErrorRecord& record) {
            return std::holds_alternative<std::string>(record.value);
        });
    }
}

Labels labels_of(const Reading& kstat) {
    return {{"module", kstat.module},
            {"instance", std::to_string(kstat.instance)},
            {"name", kstat.name},
            {"class", kstat.kstat_class}};
}

// A file of the page. A browser that has the file asks with its tag, and gets no body then.
std::optional<Response> file_response(const Request& request) {
    const std::string name = request.path == "/" ? "index.html" : request.path.substr(1);
    const std::string_view text = page_file(name);
    const bool is_report = name == "report.html" || name == "compare.html";
    if (text.empty() || is_report) return {};
    Response response{.type = std::string(type_of_file(name)),
                      .tag = fmt::format("\"{:016x}\"", std::hash<std::string_view>{}(text))};
    if (request.if_none_match.find(response.tag) != std::string::npos) {
        response.status = 304;
    } else {
        response.body = body_of(std::string(text));
    }
    return response;
}

std::string kstat_text(const std::vector<Reading>& kstats, TextFormat format) {
    Exposition text(format);
    const auto add_all = [&](bool texts) {
        for (const Reading& kstat : kstats) {
            for (const kstat_command::Statistic& statistic : kstat.statistics) {
                if (std::holds_alternative<kstat_command::Text>(statistic.value) != texts) continue;
                Labels labels = labels_of(kstat);
                labels.emplace_back("statistic", statistic.name);
                const std::string value = kstat_command::value_text(statistic.value);
                if (texts) labels.emplace_back("value", value);
                text.sample(labels, texts ? "1" : value);
            }
        }
    };
    text.family("kstat_value", Metric::unknown, "A number of a kstat, as its provider has it.");
    add_all(false);
    text.family("kstat_info", Metric::gauge, "A text of a kstat.");
    add_all(true);
    return text.take();
}

}  // namespace

void Pages::open() try {
    static_cast<void>(look(false));
    end_turn();
} catch (const std::runtime_error&) {
    // There may be no provider yet. The reply to a request tells why there is nothing.
}

Response Pages::respond(const Request& request) try {
    if (request.path == "/metrics") return metrics(request);
    if (request.path == "/api/v1/devices") return devices(request);
    if (request.path == "/api/v1/overview") return overview(request);
    if (request.path == "/api/v1/kstat") return kstats(request);
    if (request.path == "/api/v1/stream") {
        return {.type = "text/event-stream", .body = body_of("retry: 2000\n\n"), .is_stream = true};
    }
    return file_response(request).value_or(text_response(404, "There is no such page.\n"));
} catch (const std::invalid_argument& refused) {
    return text_response(400, std::string(refused.what()) + "\n");
} catch (const std::runtime_error& failure) {
    return text_response(503, std::string(failure.what()) + "\n");
} catch (const std::logic_error& failure) {  // a defect of ours ends a request, not the server
    return text_response(500, std::string(failure.what()) + "\n");
}

const Look& Pages::look(bool all_histograms) {
    if (!look_ || (all_histograms && !has_all_histograms_)) {
        look_ = reader_.look(all_histograms);
        has_all_histograms_ = all_histograms;
        if (!clients_named_) hide_identities(*look_);
    }
    return *look_;
}

void Pages::end_turn() {
    look_.reset();
    replies_.clear();
}

template <class Make>
Response Pages::kept(const std::string& key, Make make) {
    const auto known = replies_.find(key);
    if (known != replies_.end()) return known->second;
    if (replies_.size() >= replies_kept_max) replies_.clear();
    return replies_[key] = make();
}

Response Pages::metrics(const Request& request) {
    if (const auto selector = request.parameter("kstat")) return kstat_metrics(request, *selector);
    const std::optional<std::string> device = request.parameter("device");
    const TextFormat format = format_for(request.accept);
    const std::string key = std::string(type_of(format)) + (device ? "?" + *device : "");
    return kept(key, [&] {
        const MetricsOptions options{
            .format = format, .clients_named = clients_named_, .shows = chosen(device)};
        return Response{.type = std::string(type_of(format)),
                        .body = body_of(metrics_text(look(false), options))};
    });
}

Response Pages::kstat_metrics(const Request& request, const std::string& selector) {
    kstat_command::Options options;
    const TextFormat format = format_for(request.accept);
    std::vector<Reading> kstats = read_kstats(selector, options);
    std::erase_if(kstats, [&](const Reading& kstat) {
        return !kstat_command::selects(options.selectors.front(), kstat);
    });
    if (!clients_named_) hide_identities(kstats);
    return {.type = std::string(type_of(format)), .body = body_of(kstat_text(kstats, format))};
}

Response Pages::devices(const Request& request) {
    const std::optional<std::string> device = request.parameter("device");
    const std::string key = "devices" + (device ? "?" + *device : "");
    return kept(key, [&] {
        const Shown shows = chosen(device.value_or("*"));
        const iostat::Snapshot devices = devices_of(look(true).devices, shows);
        return json_response(iostat::json_devices(nullptr, devices, std::time(nullptr), true));
    });
}

Response Pages::overview(const Request& request) {
    const Shown shows = chosen(request.parameter("device"));
    return json_response(overview_text(look(false), shows, reader_directories()));
}

Response Pages::kstats(const Request& request) {
    kstat_command::Options options;
    options.format = kstat_command::Format::json;
    std::vector<Reading> kstats = read_kstats(request.parameter("match").value_or(""), options);
    if (!clients_named_) hide_identities(kstats);
    return json_response(kstat_command::Reporter(options).report(kstats, std::time(nullptr)));
}

Body Pages::event() try {
    iostat::Snapshot devices = devices_of(look(true).devices, is_served);
    const iostat::Snapshot* before = last_ ? &*last_ : nullptr;
    const std::string text =
        "data: " + iostat::json_devices(before, devices, std::time(nullptr), true);
    last_ = std::move(devices);
    return body_of(text + "\n");
} catch (const std::exception& failure) {
    return body_of("event: failure\ndata: " + program::json_string(failure.what()) + "\n\n");
}

}  // namespace blkscope::web
