// Peer: the identity of a socket's other end, for the allow list, the log and PeerShares.
//
// Units:   ports in the host's byte order.
// Threads: a value; call Peer::of() on the thread that has the socket.
// Errors:  none; a client that has already closed is unknown.
// Source:  unix(7) SO_PEERCRED; RFC 4291 section 2.5.5.2 (IPv4 in IPv6).
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace blkscope::nbd {

/// An IPv4 or IPv6 address: 4 or 16 bytes in network order. An IPv4 address within IPv6
/// (::ffff:192.0.2.7) is stored as the IPv4 address.
class IpAddress {
  public:
    static constexpr size_t v4_bytes = 4;
    static constexpr size_t v6_bytes = 16;

    /// Empty if the text is no address. A zone, as in fe80::1%eth0, is ignored.
    static std::optional<IpAddress> parse(const std::string& text);
    explicit IpAddress(std::span<const unsigned char> bytes);

    [[nodiscard]] std::span<const unsigned char> bytes() const { return bytes_; }
    [[nodiscard]] bool is_v6() const { return bytes_.size() == v6_bytes; }
    [[nodiscard]] std::string text() const;

    auto operator<=>(const IpAddress&) const = default;

  private:
    std::vector<unsigned char> bytes_;
};

struct Peer {
    enum class Kind : uint8_t { unknown, process, address };

    Kind kind = Kind::unknown;
    std::optional<IpAddress> address = {};  // of Kind::address
    uint16_t port = 0;
    pid_t pid = 0;  // of Kind::process
    uid_t uid = 0;
    std::string program = {};  // of Kind::process: the process chose this name; may be empty

    static Peer of(int socket);
    /// `port` and `address` of a TCP endpoint; unknown for another family.
    static Peer of_address(const sockaddr_storage& from);

    /// The text for the log: "192.0.2.7 port 4711", "process 815 of user 1000", "a client".
    [[nodiscard]] std::string text() const;

    using Key = std::tuple<Kind, std::vector<unsigned char>, uid_t, pid_t>;
    /// Equal for the same client: the same process and user, or the same address.
    [[nodiscard]] Key client_key() const;
    /// Equal for clients that one person can easily have: processes of one user, or connections
    /// from one IPv4 address. IPv6 addresses need only the same first 64 bits.
    [[nodiscard]] Key owner_key() const;
};

}  // namespace blkscope::nbd
