// A reader's connection to one provider: requests out, replies in, each with a deadline, which
// moves by a microsecond for each byte that has come through.
//
// A provider that does not answer in time keeps owing its reply. The connection stays: the reply
// may come later, and is then the sign that the provider lives (still_owes).
//
// Threads: one.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "kstat/wire/message.hpp"

namespace blkscope::kstat {

using Deadline = std::chrono::steady_clock::time_point;

struct Reply {
    wire::ReplyHead head;
    std::vector<std::byte> body;
};

/// The run directory, open.
struct Directory {
    int descriptor;
    uid_t owner;
};

/// How long a provider may take over an answer.
inline constexpr auto patience = std::chrono::seconds(1);
Deadline soon();

class ProviderConnection {
  public:
    /// Connects to the socket `name`, if it is one of somebody we believe: root, ourselves, or the
    /// directory's owner. Null: it is not, or nobody listens.
    static std::unique_ptr<ProviderConnection> open(const Directory& directory,
                                                    const std::string& name, Deadline deadline);

    ~ProviderConnection();
    ProviderConnection(const ProviderConnection&) = delete;
    ProviderConnection& operator=(const ProviderConnection&) = delete;

    /// The user the provider runs as.
    uid_t peer() const { return peer_; }

    bool owes_reply() const { return owes_; }

    /// Sends one request; no reply may be owed. False: the connection is dead.
    bool send(wire::Op op, wire::Bytes body, wire::Bytes data, Deadline deadline);

    enum class Outcome { answered, silent, dead };

    /// Waits for the reply owed. What has arrived already is taken even when the deadline has
    /// passed. Dead: the provider closed, or sent what no provider sends.
    Outcome receive(Reply& reply, Deadline deadline);

  private:
    ProviderConnection(int socket, uid_t peer) : socket_(socket), peer_(peer) {}

    enum class Arrival { some, none, end };
    Arrival take_what_arrived(size_t wanted);

    int socket_;
    uid_t peer_;
    uint32_t sequence_ = 0;
    bool owes_ = false;
    std::vector<std::byte> in_;
    size_t in_size_ = 0;
};

}  // namespace blkscope::kstat
