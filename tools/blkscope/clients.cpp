#include "tools/blkscope/clients.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "base/log_line.hpp"
#include "driver/nbd/text.hpp"
#include "tools/blkscope/control_client.hpp"
#include "tools/blkscope/control_request.hpp"
#include "tools/iostat/reader.hpp"
#include "tools/iostat/snapshot.hpp"
#include "tools/program/kstats.hpp"
#include "tools/program/print.hpp"

namespace blkscope {
namespace {

std::string disk_of(const iostat::Device& client) {
    return client.name.substr(0, client.name.find(','));
}

iostat::Options reader_options() {
    iostat::Options options;
    options.mode = iostat::Mode::extended;
    options.clients = true;
    return options;
}

std::string unit_of_process(int pid) {
    if (pid <= 0) return {};
    std::ifstream file(fmt::format("/proc/{}/cgroup", pid));
    std::ostringstream text;
    text << file.rdbuf();
    return unit_of(text.str());
}

ClientLine line_of(kstat_ctl_t* chain, const iostat::Device* before, const iostat::Device& now) {
    ClientLine line{.device = disk_of(now) + now.at_provider,
                    .client = now.name.substr(now.name.find(',') + 1),
                    .connections = "-",
                    .figures = iostat::figures(before, now, reader_options())};
    kstat_t* info = iostat::read_beside(chain, now, "info");
    if (info == nullptr) return line;  // the client has closed meanwhile
    if (const auto connections = program::number_record(info, "connections")) {
        line.connections = std::to_string(*connections);
    }
    line.who = iostat::client_text(info);
    if (const auto* pid = program::record_of(info, "pid", KSTAT_DATA_INT32)) {
        const std::string unit = unit_of_process(pid->value.i32);
        if (!unit.empty()) line.who += ", " + unit;
    }
    if (line.client == "client-other") line.who = "all other clients";
    return line;
}

// The TLS names of the device's clients. Empty if the server tells them only to another user.
std::map<std::string, std::string> tls_names(const std::string& device) try {
    std::map<std::string, std::string> names;
    const StrictJson answer =
        ask_server({.command = ControlRequest::Command::clients, .device = device});
    for (const StrictJson& client : answer.at("clients")) {
        names[client.at("client").get<std::string>()] = client.at("tls-name").get<std::string>();
    }
    return names;
} catch (const std::exception&) {
    return {};
}

void add_tls_names(std::vector<ClientLine>& lines) {
    std::map<std::string, std::map<std::string, std::string>> names;  // by device
    for (ClientLine& line : lines) {
        const auto known = names.find(line.device);
        auto& of_device =
            known == names.end() ? names[line.device] = tls_names(line.device) : known->second;
        const auto found = of_device.find(line.client);
        if (found != of_device.end()) line.who = found->second + ", " + line.who;
    }
}

bool is_idle_rest(const ClientLine& line) {
    return line.client == "client-other" && line.connections == "0" && line.figures.actv == 0;
}

std::vector<iostat::Device> look(iostat::Reader& reader, const std::string& device) {
    std::vector<iostat::Device> devices = reader.read();
    if (!device.empty()) {
        const bool found = std::ranges::any_of(devices, [&](const iostat::Device& each) {
            return each.kind == iostat::Kind::disk &&
                   iostat::is_name_of(device, each.name, each.provider);
        });
        if (!found) throw std::runtime_error("clients: " + iostat::no_devices_text({device}));
    }
    const auto is_served = [](const iostat::Device& each) {
        return each.kind == iostat::Kind::disk && each.module == "nbd";
    };
    if (std::ranges::none_of(devices, is_served))
        throw std::runtime_error("clients: " + iostat::no_devices_text());
    std::erase_if(devices, [&](const iostat::Device& each) {
        if (each.kind != iostat::Kind::client) return true;
        return !device.empty() && !iostat::is_name_of(device, disk_of(each), each.provider);
    });
    return devices;
}

}  // namespace

std::string unit_of(const std::string& cgroup) {
    std::string unit;
    std::istringstream lines(cgroup);
    for (std::string line; std::getline(lines, line);) {
        const std::string last = line.substr(line.rfind('/') + 1);
        if (last.ends_with(".service") || last.ends_with(".scope")) unit = last;
    }
    return nbd::printable(unit);
}

std::string clients_table(std::vector<ClientLine> lines) {
    std::map<std::string, double> served;  // by device
    size_t width = 8;                      // of a name
    for (const ClientLine& line : lines) {
        served[line.device] += line.figures.actv;
        width = std::max(width, line.device.size());
    }
    std::ranges::sort(lines, [](const ClientLine& one, const ClientLine& other) {
        const auto devices = iostat::compare_names(one.device, other.device);
        if (devices != 0) return devices < 0;
        if (one.figures.actv != other.figures.actv) return one.figures.actv > other.figures.actv;
        return iostat::compare_names(one.client, other.client) < 0;
    });
    std::string text =
        fmt::format("{:<{}} {:<13} {:>5} {:>9} {:>9} {:>8} {:>8} {:>5}  {}\n", "device", width,
                    "client", "conns", "r/s", "w/s", "wsvc_t", "asvc_t", "share", "who");
    for (const ClientLine& line : lines) {
        const double all = served[line.device];
        const std::string share =
            all > 0 ? fmt::format("{:.0f}%", 100 * line.figures.actv / all) : "-";
        text += fmt::format("{:<{}} {:<13} {:>5} {:>9.1f} {:>9.1f} {:>8.3f} {:>8.3f} {:>5}  {}\n",
                            line.device, width, line.client, line.connections, line.figures.reads,
                            line.figures.writes, line.figures.wsvc_t, line.figures.asvc_t, share,
                            line.who);
    }
    return text;
}

void clients(const ClientsCommand& command) {
    iostat::Reader reader(reader_options());
    std::vector<iostat::Device> before;
    if (command.interval_s > 0) {
        before = look(reader, command.device);
        std::this_thread::sleep_for(std::chrono::duration<double>(command.interval_s));
    }
    std::vector<ClientLine> lines;
    const std::vector<iostat::Device> devices = look(reader, command.device);
    for (const iostat::Device& now : devices) {
        const auto found = iostat::find_earlier(before, std::identity{}, now, devices);
        const iostat::Device* earlier = found != before.end() ? &*found : nullptr;
        ClientLine line = line_of(reader.chain(), earlier, now);
        if (!is_idle_rest(line)) lines.push_back(std::move(line));
    }
    if (lines.empty()) return log_line("clients: no client is connected");
    add_tls_names(lines);
    program::print(clients_table(std::move(lines)), "clients: cannot write");
}

}  // namespace blkscope
