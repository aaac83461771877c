// AllowList: the addresses that may connect.
//
// An entry is an address, or a network in CIDR notation: 192.0.2.7, 10.0.0.0/8, ::1, fd00::/8. An
// IPv4 client of an IPv6 socket (::ffff:192.0.2.7) counts as IPv4. A list without entries allows
// every address. Unix sockets have no address; their file's permissions decide.
//
// Threads: immutable after construction, so any thread may read.
// Errors:  the constructor throws std::invalid_argument, naming the wrong entry and the reason.
// Source:  RFC 4632, RFC 4291 section 2.5.5.2.
#pragma once

#include <string>
#include <vector>

#include "driver/nbd/server/peer.hpp"

namespace blkscope::nbd {

class AllowList {
  public:
    /// A list without entries, which allows every address.
    AllowList() = default;
    /// Parses `entries`; the strings are not needed afterwards.
    explicit AllowList(const std::vector<std::string>& entries);

    /// True if an entry contains the address, or if there are no entries.
    [[nodiscard]] bool allows(const IpAddress& client) const;

  private:
    struct Network {
        IpAddress address;
        unsigned prefix_bits;
    };
    static Network parse(const std::string& entry);

    std::vector<Network> networks_;
};

}  // namespace blkscope::nbd
