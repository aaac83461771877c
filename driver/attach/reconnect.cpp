#include "driver/attach/reconnect.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "driver/nbd/client/blocking_stream.hpp"
#include "driver/nbd/client/dial.hpp"
#include "driver/nbd/protocol.hpp"

namespace blkscope {
namespace {

// ---- The negotiation ----

struct Offer {
    uint64_t size_bytes;
    uint16_t flags;
};

void append(std::string& to, uint64_t value, size_t bytes) {
    assert(bytes > 0);
    assert(bytes <= sizeof value);
    for (size_t i = bytes; i-- > 0;) to += static_cast<char>(value >> (8 * i));
}

[[noreturn]] void refuse(const nbd::Uri& uri, const std::string& why) {
    throw std::runtime_error(fmt::format("keep {}: {}", uri.text(), why));
}

// The greeting is two magic numbers and the server's flags.
uint16_t checked_flags(const nbd::Uri& uri, std::span<const std::byte, nbd::greeting_bytes> said) {
    if (nbd::load_be<uint64_t>(said, 0) != nbd::init_magic ||
        nbd::load_be<uint64_t>(said, 8) != nbd::option_magic) {
        refuse(uri,
               "what answers there is no NBD server of the newstyle; see what else uses the "
               "address");
    }
    return nbd::load_be<uint16_t>(said, 16);
}

// Nothing if the server closes or is late. EXPORT_NAME is enough to connect again, and every server
// has it. Its answer ends with zeroes that the kernel would take for a reply.
std::optional<Offer> negotiate(nbd::BlockingStream stream, const nbd::Uri& uri) {
    std::array<std::byte, nbd::greeting_bytes> greeting{};
    if (!stream.receive_all(greeting)) return {};
    const uint16_t offered = checked_flags(uri, greeting);
    const bool zeroes = (offered & nbd::handshake_flag::no_zeroes) == 0;
    uint32_t flags = zeroes ? 0 : nbd::client_flag::no_zeroes;
    if ((offered & nbd::handshake_flag::fixed_newstyle) != 0) {
        flags |= nbd::client_flag::fixed_newstyle;
    }
    std::string said;
    append(said, flags, nbd::client_flags_bytes);
    append(said, nbd::option_magic, 8);
    append(said, static_cast<uint32_t>(nbd::Option::export_name), 4);
    append(said, uri.export_name.size(), 4);
    said += uri.export_name;
    if (!stream.send_all(std::as_bytes(std::span(said)))) return {};
    constexpr size_t offer_bytes = 10;  // size, flags
    std::array<std::byte, offer_bytes + nbd::export_name_zeroes> answer{};
    const auto expected = std::span(answer).first(zeroes ? answer.size() : offer_bytes);
    if (!stream.receive_all(expected)) return {};
    return Offer{nbd::load_be<uint64_t>(answer, 0), nbd::load_be<uint16_t>(answer, 8)};
}

// ---- The terms ----

// In words, each way in which the export is not what the kernel relies on. More abilities than
// before do no harm, except a cache that has to be flushed.
std::vector<std::string> differences(const DeviceTerms& device, const Offer& offer) {
    namespace flag = nbd::transmission_flag;
    assert(device.block_bytes > 0);
    assert(device.flushes || !device.fua);  // the kernel uses FUA with flushes only
    std::vector<std::string> found;
    if (offer.size_bytes / device.block_bytes != device.size_bytes / device.block_bytes) {
        found.push_back(
            fmt::format("has {} bytes now and had {}", offer.size_bytes, device.size_bytes));
    }
    const auto offers = [&](uint16_t bit) {
        return (offer.flags & flag::has_flags) != 0 && (offer.flags & bit) != 0;
    };
    const auto add = [&](bool differs, const char* words) {
        if (differs) found.emplace_back(words);
    };
    add(offers(flag::read_only) && !device.read_only, "is read-only now");
    add(device.flushes && !offers(flag::send_flush), "cannot be flushed any more");
    add(!device.flushes && !device.read_only && offers(flag::send_flush),
        "has a cache now, which the device does not flush");
    add(device.fua && !offers(flag::send_fua), "has no FUA any more");
    add(device.trims && !offers(flag::send_trim), "cannot be trimmed any more");
    add(device.many_connections && !offers(flag::can_multi_conn), "allows one connection only now");
    return found;
}

uint64_t first_number(const std::filesystem::path& file) {
    uint64_t number = 0;
    std::ifstream(file) >> number;
    return number;
}

}  // namespace

DeviceTerms device_terms(const std::string& sysfs_folder) {
    constexpr uint64_t sector_bytes = 512;  // the unit of the file size for every disk
    const std::filesystem::path folder(sysfs_folder);
    const std::filesystem::path queue = folder / "queue";
    DeviceTerms terms;
    terms.size_bytes = first_number(folder / "size") * sector_bytes;
    terms.block_bytes = std::max(first_number(queue / "logical_block_size"), sector_bytes);
    terms.read_only = first_number(folder / "ro") != 0;
    // "write back" for a device that is flushed, "write through" for another one.
    std::string cache;
    std::getline(std::ifstream(queue / "write_cache"), cache);
    terms.flushes = cache == "write back";
    terms.fua = terms.flushes && first_number(queue / "fua") != 0;
    terms.trims = first_number(queue / "discard_max_bytes") != 0;
    return terms;
}

Descriptor connect_again(const nbd::Uri& uri, const DeviceTerms& terms,
                         std::chrono::milliseconds limit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    const auto addresses = nbd::find_addresses(uri);
    if (!addresses) return Descriptor();
    nbd::RemoteConnection connection = nbd::dial(*addresses, deadline);
    Descriptor& socket = connection.socket;
    if (!socket.is_open()) return Descriptor();
    const auto offer = negotiate({connection, deadline}, uri);
    if (!offer) return Descriptor();
    const auto differing = differences(terms, *offer);
    if (!differing.empty()) {
        refuse(uri, fmt::format("the export {}; detach it and attach it again",
                                fmt::join(differing, ", ")));
    }
    const int flags = fcntl(socket.get(), F_GETFL);
    if (flags < 0 || fcntl(socket.get(), F_SETFL, flags & ~O_NONBLOCK) < 0) return Descriptor();
    return std::move(socket);
}

}  // namespace blkscope
