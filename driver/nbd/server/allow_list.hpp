// AllowList: which addresses may connect.
//
// An entry is an address, or a network in CIDR notation: 192.0.2.7, 10.0.0.0/8, ::1, fd00::/8. An
// IPv4 client that comes in through an IPv6 socket (::ffff:192.0.2.7) counts as IPv4. A list
// without entries allows everyone. It is about addresses: who may use a Unix socket is a matter of
// its file's permissions.
//
// Threads: unchanged once made, so any may ask.
// Errors:  the constructor throws std::invalid_argument, saying which entry is wrong and why.
// Source:  RFC 4632, RFC 4291 section 2.5.5.2.
#pragma once

#include <string>
#include <vector>

#include "driver/nbd/server/peer.hpp"

namespace blkscope::nbd {

class AllowList {
  public:
    AllowList() = default;
    explicit AllowList(const std::vector<std::string>& entries);

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
