#include "driver/nbd/server/client_key.hpp"

#include <fmt/format.h>

#include <cassert>

#include "driver/nbd/text.hpp"

namespace blkscope::nbd {
namespace {

// The parts have no blanks, except the name, which is the last one.
std::string key_of(const Peer& peer, const std::string& tls_name, ClientBy by) {
    switch (peer.kind) {
        case Peer::Kind::unknown:
            return "unknown " + tls_name;
        case Peer::Kind::process:
            if (by == ClientBy::address) return fmt::format("uid {}", peer.uid);
            return fmt::format("uid {} pid {} {}", peer.uid, peer.pid, tls_name);
        case Peer::Kind::address:
            break;
    }
    assert(peer.address);
    if (by == ClientBy::address) return "address " + peer.address->text();
    return fmt::format("address {} {}", peer.address->text(), tls_name);
}

std::string peer_text(const Peer& peer, ClientBy by) {
    if (by == ClientBy::connection || peer.kind == Peer::Kind::unknown) return peer.text();
    if (peer.address) return peer.address->text();
    return by == ClientBy::address ? fmt::format("user {}", peer.uid) : peer.text();
}

}  // namespace

std::optional<ClientBy> client_by(std::string_view word) {
    if (word == "connection") return ClientBy::connection;
    if (word == "peer") return ClientBy::peer;
    if (word == "address") return ClientBy::address;
    if (word == "none") return ClientBy::none;
    return std::nullopt;
}

std::optional<ClientIdentity> identity_of(const Peer& peer, const std::string& tls_name,
                                          ClientBy by, uint64_t connection) {
    if (by == ClientBy::none) return std::nullopt;
    ClientIdentity who;
    who.key = by == ClientBy::connection ? fmt::format("connection {}", connection)
                                         : key_of(peer, tls_name, by);
    who.peer = peer_text(peer, by);
    if (by != ClientBy::address) who.tls_name = tls_name;
    if (peer.kind != Peer::Kind::process) return who;
    who.uid = peer.uid;
    if (by == ClientBy::address) return who;  // a user may have several processes
    who.pid = peer.pid;
    who.program = printable(peer.program);
    return who;
}

}  // namespace blkscope::nbd
