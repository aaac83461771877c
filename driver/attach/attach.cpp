#include "driver/attach/attach.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "base/decimal.hpp"
#include "base/log_line.hpp"
#include "blockdev/backing/image_user.hpp"
#include "driver/attach/disk_size.hpp"
#include "driver/attach/partitions.hpp"
#include "driver/attach/program.hpp"
#include "driver/attach/receivers.hpp"
#include "driver/attach/reconnect.hpp"
#include "driver/nbd/client/connect.hpp"

namespace blkscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view device_prefix = "/dev/nbd";
constexpr std::string_view sysfs_block = "/sys/block";
constexpr uint64_t sector_bytes = 512;  // the unit of /sys/block/*/size for every disk

// The kernel connects or disconnects the device a moment after nbd-client has ended, or some seconds if the machine is
// busy.
constexpr std::chrono::seconds change_deadline{30};
constexpr std::chrono::milliseconds change_poll{10};

// The kernel begins to read a connection within some tenths of a second, or not before another one
// has ended.
constexpr std::chrono::seconds receivers_deadline{2};
// Each attempt leaves the kernel one or two more threads, which serve the next one at once.
constexpr unsigned attach_attempts_max = 8;

// Another connection asks for the export's size. A server for one client does not answer it.
constexpr std::chrono::seconds size_limit{3};
// A disk with a model of a slow one takes seconds for its partition table.
constexpr std::chrono::seconds scan_limit{30};

fs::path sysfs_of(const std::string& device) {
    return fs::path(sysfs_block) / fs::path(device).filename();
}

uint64_t read_number(const fs::path& file) {
    std::ifstream in(file);
    uint64_t number = 0;
    in >> number;
    return number;
}

bool connected(const std::string& device) {
    return fs::exists(sysfs_of(device) / "pid");
}

[[noreturn]] void fail(const std::string& what, const std::string& why, const std::string& todo) {
    throw std::runtime_error(what + ": " + why + "; " + todo);
}

void require_driver(const std::string& what, const std::string& device) {
    if (fs::exists("/sys/module/nbd") || fs::exists(sysfs_of(device))) return;
    const ProgramResult loaded = run_program({"modprobe", "nbd"});
    if (loaded.status == 0) return;
    fail(what, "this kernel has no nbd driver (modprobe nbd: " + last_line(loaded.output) + ")",
         "on a kernel that has it run 'modprobe nbd' as root, or use the socket without "
         "attaching, as in 'fio --ioengine=nbd --uri=URI'");
}

void require_free(const std::string& what, const std::string& device) {
    if (!fs::exists(device)) {
        fail(what, "no such device", "use one of /dev/nbd0, /dev/nbd1, ...");
    }
    if (connected(device)) {
        fail(what, "it is in use",
             "free it with 'blkscope detach " + device + "', or take another one");
    }
}

// Returns false if the condition is not true in time.
template <class Condition>
bool within_deadline(Condition condition, std::chrono::milliseconds limit = change_deadline) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(change_poll);
    }
    return true;
}

}  // namespace

int nbd_index(const std::string& device) {
    if (!device.starts_with(device_prefix)) return -1;
    const auto index = decimal(std::string_view(device).substr(device_prefix.size()));
    return std::max(index.value_or(-1), -1);
}

namespace {

// nbd-client takes no directory: each file is an option.
void add_tls(std::vector<std::string>& arguments, const nbd::Uri& uri) {
    const auto add = [&](const std::string& flag, const std::string& value) {
        arguments.push_back(flag);
        arguments.push_back(value);
    };
    arguments.push_back("-enable-tls");
    const fs::path folder = uri.tls_certificates;
    add("-cacertfile", folder / "ca-cert.pem");
    if (fs::exists(folder / "client-cert.pem")) {
        add("-certfile", folder / "client-cert.pem");
        add("-keyfile", folder / "client-key.pem");
    }
    if (!uri.tls_hostname.empty()) add("-tlshostname", uri.tls_hostname);
}

void require_tls_of_nbd_client(const std::string& what, const nbd::Uri& uri) {
    if (!uri.user.empty()) {
        fail(what, "nbd-client does not support shared keys",
             "use certificates: nbds://HOST/NAME?tls-certificates=DIR");
    }
    if (uri.tls_certificates.empty() ||
        !fs::exists(fs::path(uri.tls_certificates) / "ca-cert.pem")) {
        fail(what, "no ca-cert.pem to verify the server with",
             "add ?tls-certificates=DIR to the URI, a directory that has one");
    }
    if (fs::exists(fs::path(uri.tls_certificates) / "ca-crl.pem")) {
        fail(what, "nbd-client does not check ca-crl.pem",
             "serve the URI with --attach, which checks it, or use a directory without it");
    }
}

}  // namespace

std::vector<std::string> attach_command(const nbd::Uri& uri, const AttachOptions& options) {
    std::vector<std::string> arguments{"nbd-client"};
    const auto add = [&](const std::string& flag, const std::string& value) {
        arguments.push_back(flag);
        arguments.push_back(value);
    };
    if (uri.socket_path.empty()) {
        arguments.push_back(uri.host);
        arguments.push_back(std::to_string(uri.port));
    } else {
        add("-unix", uri.socket_path);
    }
    arguments.push_back(options.device);
    add("-name", uri.export_name);
    if (uri.tls) add_tls(arguments, uri);
    if (options.connections > 1) add("-connections", std::to_string(options.connections));
    if (options.block_bytes > 0) add("-block-size", std::to_string(options.block_bytes));
    if (options.timeout_seconds > 0) add("-timeout", std::to_string(options.timeout_seconds));
    if (options.read_only) arguments.emplace_back("-readonly");
    return arguments;
}

namespace {

void disconnect(const std::string& what, const std::string& device) {
    const ProgramResult client = run_program({"nbd-client", "-d", device});
    if (client.status != 0) {
        fail(what, "nbd-client: " + last_line(client.output),
             geteuid() == 0 ? "see dmesg" : "run it as root");
    }
    if (!within_deadline([&] { return !connected(device); })) {
        fail(what, "nbd-client disconnected the device, but the kernel still has it", "see dmesg");
    }
}

// The kernel has the device already: a server for one client, as qemu-nbd is, ends with its first client, or keeps the
// kernel waiting behind it.
uint64_t export_bytes(const nbd::Uri& uri, const AttachOptions& options) {
    if (options.export_bytes) return *options.export_bytes;
    return nbd::connect_to_export(uri, {}, size_limit).remote.size_bytes;
}

void connect(const std::string& what, const nbd::Uri& uri, const AttachOptions& options) {
    const ProgramResult client = run_program(attach_command(uri, options));
    if (client.status != 0) {
        fail(what, "nbd-client: " + last_line(client.output),
             geteuid() == 0 ? "see dmesg, and that nbd-client is installed" : "run it as root");
    }
}

// In words, what the disk lacks of the export, or why that is not known.
std::string compare_sizes(const nbd::Uri& uri, const AttachOptions& options) {
    const DeviceTerms disk = device_terms(sysfs_of(options.device));
    try {
        return size_difference(export_bytes(uri, options), disk);
    } catch (const std::exception& failure) {
        return fmt::format(
            "the disk has {} bytes, and whether the export has more is not known: {}",
            disk.size_bytes, failure.what());
    }
}

// Whether the export is smaller than a sector, as far as the server says.
bool lacks_a_sector(const nbd::Uri& uri, const AttachOptions& options) {
    try {
        return export_bytes(uri, options) < sector_bytes;
    } catch (const std::exception&) {
        return false;
    }
}

// An export that is smaller than a sector becomes a disk of no size. For the size of another one the kernel may need
// some time.
void require_sectors(const std::string& what, const nbd::Uri& uri, const AttachOptions& options) {
    const auto has_any = [&] { return read_number(sysfs_of(options.device) / "size") > 0; };
    if (has_any() || (!lacks_a_sector(uri, options) && within_deadline(has_any))) return;
    const std::string why = compare_sizes(uri, options);
    disconnect(what, options.device);
    fail(what, why.empty() ? "the export is empty" : why, "serve at least 512 bytes, or see dmesg");
}

// Returns when programs can open the disk's partitions.
void wait_for_partitions(const std::string& what, const std::string& device) {
    const std::string reason = scan_partitions(device, scan_limit);
    if (!reason.empty()) log_line(what, ": the kernel has not read the partition table: ", reason);
    for (const std::string& name : partitions(sysfs_of(device))) {
        const fs::path node = fs::path("/dev") / name;
        if (within_deadline([&] { return fs::exists(node); })) continue;
        log_line(what, ": the disk has the partition ", name, ", and nothing has made ",
                 node.string());
        return;
    }
}

// Whether the kernel reads the replies of all connections. If it shows no thread that reads one, this
// is not known, and taken for true. The kernel always reads at least one.
bool reads_all(const AttachOptions& options) {
    if (options.connections == 1) return true;
    std::optional<unsigned> found;
    const auto are_there = [&] {
        found = receivers(nbd_index(options.device));
        return !found || *found >= options.connections;
    };
    return within_deadline(are_there, receivers_deadline) || *found == 0;
}

// Whether another attachment has the device by now, or a user holds it. A process that merely has it open looks for
// partitions, and waits for a connection that is not read.
bool is_taken(const std::string& device, int process) {
    if (attached_by(device) != process) return true;
    const auto user = device_user(device);
    return user && !user->starts_with("open in ");
}

}  // namespace

void attach(const nbd::Uri& uri, const AttachOptions& options) {
    const std::string what = "attach " + options.device;
    if (nbd_index(options.device) < 0) {
        fail(what, "not an nbd device", "use one of /dev/nbd0, /dev/nbd1, ...");
    }
    if (uri.tls) require_tls_of_nbd_client(what, uri);
    require_driver(what, options.device);
    require_free(what, options.device);
    for (unsigned attempt = 1;; ++attempt) {
        connect(what, uri, options);
        require_sectors(what, uri, options);
        const int process = attached_by(options.device);
        if (reads_all(options)) break;
        const bool last = attempt == attach_attempts_max || is_taken(options.device, process);
        log_line(what, ": the kernel does not read all its connections; ",
                 last ? "a request may wait for its timeout" : "they are made again");
        if (last) break;
        disconnect(what, options.device);
    }
    const std::string difference = compare_sizes(uri, options);
    if (!difference.empty()) log_line(what, ": ", difference);
    wait_for_partitions(what, options.device);
}

int attached_by(const std::string& device) {
    return static_cast<int>(read_number(sysfs_of(device) / "pid"));
}

void detach(const std::string& device, const DetachOptions& options) {
    const std::string what = "detach " + device;
    if (nbd_index(device) < 0)
        fail(what, "not an nbd device", "use one that 'blkscope list' shows");
    if (!connected(device))
        fail(what, "it is not attached", "'blkscope list' shows those that are");
    if (const auto user = device_user(device); user && !options.force) {
        fail(what, "it is in use: " + *user, "end that first, or detach it with --force");
    }
    disconnect(what, device);
    // The kernel would show the partitions until the next open.
    const std::string reason = scan_partitions(device, scan_limit);
    if (!reason.empty()) log_line(what, ": the kernel may still show its partitions: ", reason);
}

std::vector<AttachedDevice> attached_devices() {
    std::vector<AttachedDevice> devices;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(sysfs_block, none)) {
        const std::string device = "/dev/" + entry.path().filename().string();
        if (nbd_index(device) < 0 || !connected(device)) continue;
        devices.push_back({device, read_number(entry.path() / "size") * sector_bytes,
                           read_number(entry.path() / "ro") != 0});
    }
    return devices;
}

}  // namespace blkscope
