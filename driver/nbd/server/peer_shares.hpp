// PeerShares: which handshake goes when there is no room for a newcomer.
//
// An attacker opens as many handshakes as there may be, and more for each that ends. A place is
// therefore taken from the owner with the most of them, there from the client with the most, and
// from that client the one that began first. A newcomer counts as one of its owner's and client's.
//
//     owner           client                 handshakes, oldest first
//     user 1000       process 815            #3 #4 #5 ... #66      ◀── #3 goes
//                     process 816            #67
//     192.0.2.7       192.0.2.7              #70                   ◀── safe while others have more
//
// Each owner so keeps its equal share of the places, however fast another one connects.
//
// Units:     a number of handshakes; a Number grows by one with each that begins.
// Ownership: nothing of the handshakes; copies of who they are with.
// Threads:   one.
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

    /// `number` is above all that came before.
    void enter(Number number, const Peer& peer);
    void leave(Number number);

    [[nodiscard]] size_t size() const { return members_.size(); }
    /// How many the same client has.
    [[nodiscard]] size_t of_client(const Peer& peer) const;

    /// The one to end for `newcomer`, which is not among them yet. Nothing if there are none.
    ///
    /// Costs a walk over all of them.
    [[nodiscard]] std::optional<Number> first_to_go(const Peer& newcomer) const;

  private:
    using Counts = std::map<Peer::Key, size_t>;  // nothing at zero; a place in it does not move

    struct Member {
        Counts::iterator owner;
        Counts::iterator client;
    };

    static Counts::iterator add(Counts& counts, const Peer::Key& key);
    static void subtract(Counts& counts, Counts::iterator place);

    std::map<Number, Member> members_;
    Counts owners_;
    Counts clients_;
};

}  // namespace blkscope::nbd
