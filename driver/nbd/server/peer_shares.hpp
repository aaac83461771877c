// PeerShares: chooses the handshake that ends when there is no room for a new client.
//
// An attacker can open many handshakes, and a new one for each that ends. So the owner with the
// most handshakes loses one. Of the owner's clients, the client with the most loses its oldest.
// The new client counts with its owner and client.
//
//     owner           client                 handshakes, oldest first
//     user 1000       process 815            #3 #4 #5 ... #66      ◀── #3 ends
//                     process 816            #67
//     192.0.2.7       192.0.2.7              #70                   ◀── safe while others have more
//
// So each owner keeps an equal share of the places, however fast another one connects.
//
// Units:     a number of handshakes; a Number grows by one with each that begins.
// Ownership: owns copies of the peers' keys, nothing of the handshakes.
// Threads:   the control thread.
// Errors:    none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "driver/nbd/server/peer.hpp"

namespace blkscope::nbd {

class PeerShares {
  public:
    using Number = uint64_t;

    /// Adds a handshake. `number` is larger than all earlier ones.
    void add(Number number, const Peer& peer);
    void remove(Number number);

    [[nodiscard]] size_t size() const { return members_.size(); }
    /// The number of handshakes of the same client.
    [[nodiscard]] size_t of_client(const Peer& peer) const;

    /// The handshake to end for `newcomer`, which is not added yet. Empty if there is none.
    ///
    /// Cost: visits every handshake.
    [[nodiscard]] std::optional<Number> first_to_end(const Peer& newcomer) const;

  private:
    using Counts = std::map<Peer::Key, size_t>;  // without zero counts; elements never move

    struct Member {
        Counts::iterator owner;
        Counts::iterator client;
    };

    static Counts::iterator increment(Counts& counts, const Peer::Key& key);
    static void decrement(Counts& counts, Counts::iterator place);

    std::map<Number, Member> members_;
    Counts owners_;
    Counts clients_;
};

}  // namespace blkscope::nbd
