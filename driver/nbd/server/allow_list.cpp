#include "driver/nbd/server/allow_list.hpp"

#include <algorithm>
#include <cassert>
#include <span>
#include <stdexcept>

#include "base/decimal.hpp"
#include "blockdev/ring/planted.hpp"

namespace blkscope::nbd {
namespace {

using Bytes = std::span<const unsigned char>;

constexpr unsigned byte_bits = 8;

bool bit(Bytes bytes, unsigned index) {
    assert(index / byte_bits < bytes.size());
    return (bytes[index / byte_bits] >> (byte_bits - 1 - index % byte_bits) & 1) != 0;
}

// True if the first `bits` of both are equal. A comparison of texts would be wrong: 10.0.0.1 is a
// part of 110.0.0.1 and of 10.0.0.12.
bool same_prefix(Bytes one, Bytes other, unsigned bits) {
    if (one.size() != other.size()) return false;
    assert(bits <= one.size() * byte_bits);
    for (unsigned i = 0; i < bits; ++i) {
        if (bit(one, i) != bit(other, i)) return false;
    }
    return true;
}

[[noreturn]] void refuse(const std::string& entry, const std::string& why) {
    throw std::invalid_argument("allow '" + entry + "': " + why);
}

unsigned parse_prefix(const std::string& entry, std::string_view text, size_t address_bytes) {
    const auto bits_max = static_cast<unsigned>(address_bytes) * byte_bits;
    const auto bits = decimal<unsigned>(text);
    if (!bits || *bits > bits_max) {
        refuse(entry, "the prefix after '/' is not 0 to " + std::to_string(bits_max));
    }
    return *bits;
}

}  // namespace

AllowList::AllowList(const std::vector<std::string>& entries) {
    for (const std::string& entry : entries) networks_.push_back(parse(entry));
}

AllowList::Network AllowList::parse(const std::string& entry) {
    const size_t slash = entry.find('/');
    const auto address = IpAddress::parse(entry.substr(0, slash));
    if (!address) refuse(entry, "not an IP address or network; give one, as in 10.0.0.0/8 or ::1");
    const Bytes bytes = address->bytes();
    const auto bits = static_cast<unsigned>(bytes.size()) * byte_bits;
    Network network{*address, bits};
    if (slash == std::string::npos) return network;
    network.prefix_bits =
        parse_prefix(entry, std::string_view(entry).substr(slash + 1), bytes.size());
    // An entry such as 10.1.2.3/8 is often a mistake, and would allow more than its author
    // intended.
    for (unsigned i = network.prefix_bits; i < bits; ++i) {
        if (bit(bytes, i)) {
            refuse(entry,
                   "the address has bits after the prefix; give the network's first "
                   "address, or the address alone");
        }
    }
    return network;
}

bool AllowList::allows(const IpAddress& client) const {
    if (networks_.empty()) return true;
    return std::any_of(networks_.begin(), networks_.end(), [&](const Network& network) {
        const unsigned rest = planted("prefix-of-bytes") ? network.prefix_bits % byte_bits : 0;
        return same_prefix(client.bytes(), network.address.bytes(), network.prefix_bits - rest);
    });
}

}  // namespace blkscope::nbd
