#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>
#include <thread>

#include "base/descriptor.hpp"
#include "driver/attach/attach.hpp"
#include "driver/attach/nbd_netlink.hpp"
#include "driver/attach/reconnect.hpp"

namespace blkscope {
namespace {

// How long requests to the device wait for the server.
constexpr std::chrono::hours dead_timeout{24};
// Interval of attempts to connect to a server that is not back.
constexpr std::chrono::milliseconds retry_interval{200};
// Interval of checks for a dead connection that was not announced.
constexpr std::chrono::seconds check_interval{1};
// The time that a server has to accept the connection and to negotiate.
constexpr std::chrono::seconds handshake_limit{10};

// A detach closes the connections first, as a server does that has closed.
bool detached_soon(const std::string& device, int attached_once) {
    constexpr std::chrono::seconds limit{5};
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (attached_by(device) == attached_once) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(retry_interval);
    }
    return true;
}

}  // namespace

void keep_attached(const nbd::Uri& uri, const AttachOptions& options) {
    const std::string& device = options.device;
    const auto index = static_cast<uint32_t>(nbd_index(device));
    const int attached_once = attached_by(device);
    DeviceTerms terms = device_terms("/sys/block/nbd" + std::to_string(index));
    terms.many_connections = options.connections > 1;
    NbdNetlink driver;
    driver.set_dead_timeout(index, dead_timeout);
    bool whole = true;
    while (attached_once != 0 && attached_by(device) == attached_once) {
        if (driver.wait_for_dead_connection(whole ? check_interval : retry_interval)) whole = false;
        if (whole) continue;
        const Descriptor socket = connect_again(uri, terms, handshake_limit);
        try {
            // Until it has no dead one left; the kernel holds the connection itself.
            if (socket.is_open()) whole = !driver.replace_connection(index, socket.get());
        } catch (const std::system_error&) {
            if (!detached_soon(device, attached_once)) throw;
        }
    }
}

}  // namespace blkscope
