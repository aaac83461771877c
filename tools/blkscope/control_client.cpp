#include "tools/blkscope/control_client.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "base/run_directory.hpp"
#include "base/throw_errno.hpp"
#include "driver/nbd/server/peer.hpp"
#include "driver/nbd/text.hpp"
#include "tools/blkscope/control_socket.hpp"
#include "tools/blkscope/server_answer.hpp"
#include "tools/iostat/reader.hpp"
#include "tools/program/kstats.hpp"
#include "tools/program/options.hpp"

namespace blkscope {
namespace {

constexpr size_t answer_bytes_max = size_t{1} << 20;
constexpr timeval patience{.tv_sec = 10, .tv_usec = 0};

[[noreturn]] void no_such_device(const std::string& name) {
    throw std::runtime_error(fmt::format("there is no device '{}' in {}; 'blkscope list' shows all",
                                         name, run_directory()));
}

constexpr const char* module = "nbd";

// 0 for a server of a version without the record.
pid_t pid_in(kstat_t* ksp) {
    const kstat_named_t* pid = program::record_of(ksp, "pid", KSTAT_DATA_INT32);
    return pid == nullptr ? 0 : std::max(pid->value.i32, 0);
}

// The processes of the exports for which `is_wanted` is true, each once.
template <class Predicate>
std::set<pid_t> servers_of(kstat_ctl_t* chain, Predicate is_wanted) {
    std::set<pid_t> servers;
    for (kstat_t* ksp = chain->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
        const std::string name = fmt::format("{}{},export", module, ksp->ks_instance);
        if (std::strcmp(ksp->ks_module, module) != 0 || name != ksp->ks_name) continue;
        if (kstat_read(chain, ksp, nullptr) >= 0 && is_wanted(ksp)) servers.insert(pid_in(ksp));
    }
    return servers;
}

// The names of all devices that are served. Those of one name have their process behind it.
std::set<std::string> served_devices(kstat_ctl_t* chain) {
    std::set<std::string> devices;
    std::set<std::string> twice;
    const auto note = [&](const kstat_t* ksp) {
        const std::string device = fmt::format("{}{}", module, ksp->ks_instance);
        return !devices.insert(device).second && twice.insert(device).second;
    };
    servers_of(chain, note);
    for (const std::string& device : twice) {
        devices.erase(device);
        for (const pid_t pid : servers_of(chain, [&](const kstat_t* ksp) {
                 return device == fmt::format("{}{}", module, ksp->ks_instance);
             })) {
            devices.insert(fmt::format("{}@{}", device, pid));
        }
    }
    return devices;
}

// "nbd0@4711" is the nbd0 of the process 4711.
struct DeviceAtServer {
    std::string device;
    std::optional<pid_t> server;
};

DeviceAtServer parse_device(const std::string& text) {
    const size_t at = text.rfind('@');
    if (at == std::string::npos) return {text, {}};
    const auto server = program::decimal<pid_t>(std::string_view(text).substr(at + 1));
    if (!server || *server <= 0) no_such_device(text);
    return {text.substr(0, at), server};
}

// Servers of different run directories may have devices of one name. Then the user must name the process.
pid_t server_of(const DeviceAtServer& wanted) {
    const program::Chain chain(kstat_open());
    if (!chain) throw_errno("read kstats");
    std::set<pid_t> servers = servers_of(chain.get(), [&](const kstat_t* ksp) {
        return wanted.device == fmt::format("{}{}", module, ksp->ks_instance);
    });
    if (wanted.server) std::erase_if(servers, [&](pid_t pid) { return pid != *wanted.server; });
    if (servers.empty()) no_such_device(wanted.device);
    if (servers.size() > 1) {
        throw std::invalid_argument(fmt::format("there are several devices '{0}': name {0}@{1}",
                                                wanted.device,
                                                fmt::join(servers, " or " + wanted.device + "@")));
    }
    if (*servers.begin() > 0) return *servers.begin();
    throw std::runtime_error(wanted.device + ": its server is too old to be changed while it runs");
}

// The processes that serve a device with a crash cache. A server that this process lacks a descriptor
// for is a failure: its power would stay on.
std::set<pid_t> servers_with_crash_cache() {
    const program::Chain chain(kstat_open());
    if (!chain || program::update(chain.get()) != program::Update::complete) {
        throw_errno("read kstats");
    }
    return servers_of(chain.get(), [](kstat_t* ksp) {
        return pid_in(ksp) > 0 && kstat_data_lookup(ksp, "crash_cache") != nullptr;
    });
}

// A process of another user must not play the server.
void require_server(int socket, pid_t pid, const std::string& what) {
    const nbd::Peer who = nbd::Peer::of(socket);
    const bool trusted = who.uid == 0 || who.uid == geteuid() || geteuid() == 0;
    if (who.kind != nbd::Peer::Kind::process || !trusted || (who.pid != 0 && who.pid != pid)) {
        throw std::runtime_error(what + ": it is " + who.text() + ", not the server");
    }
}

// The run directory that has a socket of that name.
std::string directory_with(const std::string& name) {
    for (const std::string& path : reader_directories()) {
        if (access(fmt::format("{}/{}", path, name).c_str(), F_OK) == 0) return path;
    }
    return run_directory();
}

Descriptor connect_to(pid_t pid) {
    const std::string name = control_socket_name(pid);
    const std::string path = directory_with(name);
    const std::string what = "connect to " + path + "/" + name;
    const Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory.is_open()) throw_errno(what);
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket.is_open()) throw_errno(what);
    setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    const sockaddr_un address = socket_address(directory.get(), name);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        throw_errno(what);
    }
    require_server(socket.get(), pid, what);
    return socket;
}

// A server that refuses the client answers and closes before it has read anything. So a failed send
// says nothing: the answer does.
void send_line(int socket, std::string_view line) {
    while (!line.empty()) {
        const ssize_t sent = ::send(socket, line.data(), line.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return;
        line.remove_prefix(static_cast<size_t>(sent));
    }
}

// True if the server has closed the connection while it rested.
bool is_closed(int socket) {
    char byte = 0;
    return ::recv(socket, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) == 0;
}

std::string receive_line(int socket) {
    std::string line;
    std::array<char, 65536> bytes;
    for (;;) {
        const ssize_t count = ::recv(socket, bytes.data(), bytes.size(), 0);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) errno = ETIMEDOUT;
        if (count < 0) throw_errno("the server's answer");
        if (count == 0)
            throw std::runtime_error("the server has closed the connection; see its log");
        const size_t before = line.size();
        line.append(bytes.data(), static_cast<size_t>(count));
        if (const size_t end = line.find('\n', before); end != std::string::npos)
            return line.substr(0, end);
        if (line.size() > answer_bytes_max)
            throw std::runtime_error("the server's answer is too long");
    }
}

}  // namespace

std::string device_or_only_one(const std::string& name, const std::string& command) {
    if (!name.empty()) return name;
    const program::Chain chain(kstat_open());
    if (!chain) throw_errno("read kstats");
    const std::set<std::string> devices = served_devices(chain.get());
    if (devices.size() == 1) return *devices.begin();
    if (devices.empty()) throw std::runtime_error(command + ": " + iostat::no_devices_text());
    throw std::invalid_argument(fmt::format("{}: there are several devices; name one: {}", command,
                                            fmt::join(devices, ", ")));
}

ServerConnection::ServerConnection(const std::string& device)
    : pid_(server_of(parse_device(device))), socket_(connect_to(pid_)) {}

StrictJson ServerConnection::ask(const ControlRequest& request) {
    const DeviceAtServer wanted = parse_device(request.device);
    ControlRequest sent = request;
    sent.device = wanted.device;
    const std::string line = text_of(sent) + "\n";
    if (line.size() > control_line_bytes_max) {
        throw std::invalid_argument("the request is longer than 64 KiB; use a coarser histogram");
    }
    if (is_closed(socket_.get())) socket_ = connect_to(pid_);
    send_line(socket_.get(), line);
    return parse_answer(receive_line(socket_.get()));
}

StrictJson ask_server(const ControlRequest& request) {
    return ServerConnection(request.device).ask(request);
}

size_t ask_servers_with_crash_cache(const ControlRequest& request,
                                    const std::function<void(const StrictJson&)>& take) {
    std::vector<Descriptor> sockets;
    for (const pid_t pid : servers_with_crash_cache()) sockets.push_back(connect_to(pid));
    const std::string line = text_of(request) + "\n";
    for (const Descriptor& socket : sockets) send_line(socket.get(), line);
    std::exception_ptr failure;  // the first one
    for (const Descriptor& socket : sockets) {
        try {
            take(parse_answer(receive_line(socket.get())));
        } catch (const std::exception&) {
            if (!failure) failure = std::current_exception();
        }
    }
    if (failure) std::rethrow_exception(failure);
    return sockets.size();
}

}  // namespace blkscope
