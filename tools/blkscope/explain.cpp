#include "tools/blkscope/explain.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <functional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include "tools/blkscope/explain_chain.hpp"
#include "tools/blkscope/explain_past.hpp"
#include "tools/blkscope/stage_line.hpp"
#include "tools/iostat/histogram_reader.hpp"
#include "tools/iostat/histograms.hpp"
#include "tools/iostat/lateness.hpp"
#include "tools/iostat/reader.hpp"
#include "tools/program/json.hpp"
#include "tools/program/kstats.hpp"
#include "tools/program/print.hpp"

namespace blkscope {
namespace {

// ---- What the device and the disk say ----

StageTime stage_time(const iostat::Histograms& interval, std::string_view phase) {
    const auto histogram = iostat::of_transfers(interval, phase);
    if (!histogram) return {};
    return {.count = histogram->count(),
            .sum_ns = histogram->sum.value_or(0),
            .p99_ns = iostat::percentile(*histogram, kstat2::p99)};
}

// A relative path is relative to the folder of the server.
std::string path_of_backing(const std::string& backing, kstat_t* exp) {
    if (exp == nullptr || backing.starts_with('/')) return backing;
    const kstat_named_t* pid = program::record_of(exp, "pid", KSTAT_DATA_INT32);
    return pid == nullptr ? backing : fmt::format("/proc/{}/cwd/{}", pid->value.i32, backing);
}

// The disk that is the backing, or has its file.
std::optional<dev_t> disk_of_backing(const std::string& backing) {
    struct stat status {};
    if (stat(backing.c_str(), &status) != 0) return {};
    if (S_ISBLK(status.st_mode)) return status.st_rdev;
    return S_ISREG(status.st_mode) ? std::optional(status.st_dev) : std::nullopt;
}

// Reads and writes that have completed since the boot.
std::optional<DiskTime> read_disk(std::optional<dev_t> disk) {
    if (!disk) return {};
    const std::string folder = fmt::format("/sys/dev/block/{}:{}", major(*disk), minor(*disk));
    std::ifstream file(folder + "/stat");
    std::array<uint64_t, 8> fields{};
    for (uint64_t& field : fields) file >> field;
    if (!file) return {};
    std::ifstream about(folder + "/uevent");
    DiskTime time{.name = "disk", .requests = fields[0] + fields[4], .ms = fields[3] + fields[7]};
    for (std::string line; std::getline(about, line);) {
        if (line.starts_with("DEVNAME=")) time.name = line.substr(8);
    }
    return time;
}

std::vector<iostat::Device> read_devices(iostat::Reader& reader) {
    std::vector<iostat::Device> devices = reader.read();
    std::erase_if(devices, [](const iostat::Device& each) {
        return each.kind != iostat::Kind::disk || each.module != "nbd";
    });
    return devices;
}

// Waiting and in service, now.
uint64_t under_way(iostat::Reader& reader, const iostat::Device& device) {
    for (const iostat::Device& each : read_devices(reader)) {
        if (each.kid != device.kid || each.crtime != device.crtime) continue;
        return uint64_t{each.io.wcnt} + each.io.rcnt;
    }
    throw std::runtime_error(fmt::format("explain: {} is gone, or its server does not answer",
                                         iostat::unique_name(device)));
}

std::optional<UpstreamState> read_upstream(iostat::Reader& reader, const iostat::Device& device) {
    kstat_t* const upstream = iostat::read_beside(reader.chain(), device, "upstream");
    if (upstream == nullptr) return {};
    return UpstreamState{.word = program::word_record(upstream, "state").value_or("-"),
                         .reconnects = program::number_record(upstream, "reconnects").value_or(0)};
}

// The sum of the numbers in records with such a name; 0 without the kstat.
uint64_t sum_of(const kstat_t* ksp, bool (*is_meant)(std::string_view name)) {
    uint64_t sum = 0;
    if (ksp == nullptr || ksp->ks_type != KSTAT_TYPE_NAMED) return 0;
    for (const kstat_named_t& record : std::span(KSTAT_NAMED_PTR(ksp), ksp->ks_ndata)) {
        const bool is_number = record.data_type == KSTAT_DATA_UINT64;
        if (is_number && is_meant(program::field_text(record.name))) sum += record.value.ui64;
    }
    return sum;
}

// Counts of causes that slow requests, up to now.
struct Causes {
    uint64_t limited_ns;
    uint64_t faults;
};

Causes read_causes(iostat::Reader& reader, const iostat::Device& device) {
    return {.limited_ns = sum_of(iostat::read_beside(reader.chain(), device, "limits"),
                                 [](auto name) { return name.ends_with("_exceeded_ns"); }),
            .faults = sum_of(iostat::read_beside(reader.chain(), device, "faults"),
                             [](auto name) { return name.starts_with("hits_"); })};
}

// A client with so much of the disk is the reason why the others wait.
constexpr double busy_share = 0.8;

std::vector<iostat::Device> read_clients(iostat::Reader& reader, const iostat::Device& device) {
    std::vector<iostat::Device> clients = reader.read();
    std::erase_if(clients, [&](const iostat::Device& each) {
        return each.kind != iostat::Kind::client || each.provider != device.provider ||
               !each.name.starts_with(device.name + ",");
    });
    return clients;
}

// None if no client has nearly all of the disk, or if it is the only one that wants it.
std::optional<BusyClient> busy_client(iostat::Reader& reader, const iostat::Device& device,
                                      const std::vector<iostat::Device>& before) {
    const std::vector<iostat::Device> now = read_clients(reader, device);
    const iostat::Device* busiest = nullptr;
    double all_ns = 0;
    double most_ns = 0;
    size_t active = 0;
    for (const iostat::Device& client : now) {
        const auto found = iostat::find_earlier(before, std::identity{}, client, now);
        const kstat_io_t io = found != before.end() ? found->io : kstat_io_t{};
        const auto ns = static_cast<double>(client.io.rlentime - io.rlentime);
        if (client.io.rlentime + client.io.wlentime > io.rlentime + io.wlentime) ++active;
        all_ns += ns;
        if (ns <= most_ns) continue;
        most_ns = ns;
        busiest = &client;
    }
    if (active < 2 || busiest == nullptr || most_ns < busy_share * all_ns) return {};
    std::string text = busiest->name.substr(busiest->name.find(',') + 1);
    if (kstat_t* const info = iostat::read_beside(reader.chain(), *busiest, "info")) {
        text += ", " + iostat::client_text(info) + ",";
    }
    return BusyClient{std::move(text), most_ns / all_ns};
}

// ---- The sentence ----

struct Part {
    std::string_view name;
    double ns;
    std::string advice;
};

// The time with the disk of a request of ours. The disk may have had requests of others.
double disk_ns(const Explanation& what) {
    if (!what.disk || what.service.count == 0 || what.disk->requests < what.service.count) return 0;
    const double ns =
        static_cast<double>(what.disk->ms) * 1e6 / static_cast<double>(what.service.count);
    return std::min(ns, what.service.mean_ns());
}

std::string state_text(const UpstreamState& upstream) {
    if (upstream.reconnects == 0) return upstream.word;
    if (upstream.reconnects == 1) return upstream.word + ", connected again once";
    return fmt::format("{}, connected again {} times", upstream.word, upstream.reconnects);
}

// Without a request an upstream may be "waiting": the next one connects.
std::string nothing_ended(const Explanation& what) {
    std::string text = "There were no reads or writes to explain.";
    if (what.under_way > 0) {
        text = fmt::format("No read or write has ended, and {} under way.",
                           what.under_way == 1 ? "1 is" : fmt::format("{} are", what.under_way));
    }
    if (what.upstream) text += fmt::format(" The upstream is {}.", state_text(*what.upstream));
    return text + " 'blkscope slow' shows all that is under way, with flushes.\n";
}

std::string wait_advice(const Explanation& what) {
    if (what.limited) return "the limits of the device or of its clients hold requests back";
    if (what.busy_client) {
        return fmt::format(
            "{} has {:.0f} % of the disk, and the others wait behind its requests; "
            "'blkscope set {} order=fair' lets the clients take turns, and "
            "client-limit= holds it back",
            what.busy_client->text, what.busy_client->share * 100, what.device);
    }
    return "requests wait for a place in the depth; a larger --queue-depth, or fewer requests at "
           "once, would shorten it";
}

std::string service_advice(const Explanation& what) {
    if (what.modelled) return "the device has a model, which decides it";
    if (what.faulted) return "a fault rule has struck; 'blkscope list -v' shows the rules";
    if (what.upstream) {
        return "it is the upstream and the way there; where that is a blkscope of this machine, "
               "--upstream divides it";
    }
    if (what.disk && disk_ns(what) == 0) {
        return "most of it never reached the disk: it is the page cache, the copy and the ring";
    }
    if (what.backing == "memory") {
        return "it is the copy, the ring and the wake-up; a faster processor would change it";
    }
    return "it is the file system, the ring and the wake-up; --direct or a faster processor would "
           "change it";
}

std::vector<Part> parts_of(const Explanation& what) {
    const double disk = disk_ns(what);
    std::vector<Part> parts{
        {"receive", what.receive.mean_ns(),
         "requests are held back before the device, for their data or for memory; fewer or smaller "
         "writes at once would shorten it"},
        {"wait", what.wait.mean_ns(), wait_advice(what)},
        {"service", what.service.mean_ns() - disk, service_advice(what)},
        {"reply", what.reply.mean_ns(),
         "clients take their answers slowly; a faster client or network would shorten it"}};
    if (disk > 0) {
        parts.push_back({"disk", disk,
                         fmt::format("the disk {} itself is the largest part; only a faster disk, "
                                     "or fewer requests for it, would change it",
                                     what.disk->name)});
    }
    return parts;
}

std::string disk_lines(const Explanation& what, double all) {
    if (what.upstream) return fmt::format("    upstream     {}\n", state_text(*what.upstream));
    if (!what.disk) return "    no disk      the backing is memory, or a file of no disk\n";
    const double disk = disk_ns(what);
    if (disk == 0) {
        return fmt::format("    page cache   {} saw {} requests, fewer than the device\n",
                           what.disk->name, what.disk->requests);
    }
    return stage_line("  " + what.disk->name, disk, all, {}) +
           stage_line("  rest", what.service.mean_ns() - disk, all, {});
}

std::vector<std::string> unique_names(const std::vector<iostat::Device>& devices) {
    std::vector<std::string> names;
    names.reserve(devices.size());
    for (const iostat::Device& each : devices) names.push_back(iostat::unique_name(each));
    return names;
}

void require_histograms(const iostat::Device& device) {
    if (!device.histograms.empty()) return;
    throw std::runtime_error(
        fmt::format("explain: {0} has no histograms; 'kstat2adm enable blk:hist' begins",
                    iostat::unique_name(device)));
}

}  // namespace

std::string explanation_text(const Explanation& what) {
    std::string text =
        fmt::format("{}, {}: {} reads and writes in {:.1f} s\n", what.device,
                    program::shown(what.backing), what.service.count, what.interval_s);
    if (what.service.count == 0) return text + "\n" + nothing_ended(what);
    const std::vector<Part> parts = parts_of(what);
    double all = 0;
    for (const Part& part : parts) all += part.ns;
    text += "\n  stage               mean  share\n";
    text += stage_line("receive", what.receive.mean_ns(), all, what.receive.p99_ns);
    text += stage_line("wait", what.wait.mean_ns(), all, what.wait.p99_ns);
    text += stage_line("service", what.service.mean_ns(), all, what.service.p99_ns);
    text += disk_lines(what, all);
    text += stage_line("reply", what.reply.mean_ns(), all, what.reply.p99_ns);
    if (what.upstream && what.upstream->word == "changed") {
        return text + "\nThe upstream has changed: all requests fail until a reload.\n";
    }
    if (what.late) text += fmt::format("\n{}: {}.\n", what.device, *what.late);
    const Part& most = *std::ranges::max_element(parts, {}, &Part::ns);
    return text + fmt::format("\nMost of the time, {:.0f} %, is {}: {}.\n",
                              all > 0 ? most.ns / all * 100 : 0, most.name, most.advice);
}

// The kernel's milliseconds have 32 bits each, so a sum of two may have gone back by 2^32 or 2^33.
std::optional<DiskTime> since(const std::optional<DiskTime>& before, std::optional<DiskTime> now) {
    if (!before || !now || now->requests < before->requests) return {};
    now->requests -= before->requests;
    now->ms = static_cast<uint32_t>(now->ms - before->ms);
    return now;
}

void choose(std::vector<iostat::Device>& devices, const std::string& name) {
    if (name.empty() && devices.size() > 1) {
        throw std::runtime_error(fmt::format("explain: there are several devices; name one: {}",
                                             fmt::join(unique_names(devices), ", ")));
    }
    if (!name.empty()) {
        std::erase_if(devices, [&](const iostat::Device& each) {
            return !iostat::is_name_of(name, each.name, each.provider);
        });
    }
    if (devices.empty()) {
        throw std::runtime_error("explain: " + (name.empty() ? iostat::no_devices_text()
                                                             : iostat::no_devices_text({name})));
    }
    if (devices.size() == 1) return;
    throw std::runtime_error(fmt::format("explain: there are several devices '{}': name {}", name,
                                         fmt::join(unique_names(devices), " or ")));
}

void explain(const ExplainCommand& command) {
    if (!command.upstream.empty()) {
        return explain_chain({.first = command.device,
                              .second = command.upstream,
                              .interval_s = command.interval_s});
    }
    if (is_of_the_past(command)) return explain_past(command);
    iostat::Options options;
    options.mode = iostat::Mode::extended;
    iostat::Reader reader(options);
    iostat::HistogramReader histograms;
    std::vector<iostat::Device> before = read_devices(reader);
    choose(before, command.device);
    histograms.read_into(before);
    const iostat::Device& chosen = before.front();
    require_histograms(chosen);
    kstat_t* exp = iostat::read_beside(reader.chain(), chosen, "export");
    Explanation what{.device = iostat::unique_name(chosen),
                     .backing = exp != nullptr ? program::text_record(exp, "backing").value_or("-")
                                               : std::string("-")};
    const auto disk = disk_of_backing(path_of_backing(what.backing, exp));
    const auto has = [&](const char* kstat) {
        return iostat::read_beside(reader.chain(), chosen, kstat) != nullptr;
    };
    const auto upstream_before = read_upstream(reader, chosen);
    what.modelled = has("model");
    iostat::Options client_options = options;
    client_options.clients = true;
    iostat::Reader client_reader(client_options);
    const std::vector<iostat::Device> clients_before = read_clients(client_reader, chosen);
    const Causes before_interval = read_causes(reader, chosen);
    const auto disk_before = read_disk(disk);
    const auto begin = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::chrono::duration<double>(command.interval_s));
    std::vector<iostat::Device> now{chosen};
    now.front().histograms.clear();
    histograms.read_into(now);
    what.disk = since(disk_before, read_disk(disk));
    what.interval_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    what.under_way = under_way(reader, chosen);
    require_histograms(now.front());
    const Causes causes = read_causes(reader, chosen);
    what.limited = causes.limited_ns > before_interval.limited_ns || has("client-limits");
    what.busy_client = busy_client(client_reader, chosen, clients_before);
    what.faulted = causes.faults > before_interval.faults;
    what.upstream = read_upstream(reader, chosen);
    if (what.upstream && upstream_before) what.upstream->reconnects -= upstream_before->reconnects;
    const auto interval = iostat::difference(chosen.histograms, now.front().histograms);
    what.receive = stage_time(interval, "receive");
    what.wait = stage_time(interval, "wait");
    what.service = stage_time(interval, "service");
    what.reply = stage_time(interval, "reply");
    what.late = iostat::late_server_text(interval);
    program::print(explanation_text(what));
}

}  // namespace blkscope
