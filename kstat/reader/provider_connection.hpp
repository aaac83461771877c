// A reader's connection to one provider: requests out, replies in, each with a deadline. The
// deadline moves by 125 ns for each byte sent or received, so by 8 s for the longest reply. Before the
// first byte, each byte of the request moves it. So does each byte of a reply whose length is known.
//
// A provider that misses the deadline still owes its reply, and the connection stays. A later reply
// then shows that the provider runs (still_owes). The reader does not wait for a process that a
// signal has stopped. Such a process has missed the deadline, too.
//
// Threads: one.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "kstat/wire/message.hpp"

namespace blkscope::kstat {

using Deadline = std::chrono::steady_clock::time_point;

struct Reply {
    wire::ReplyHead head;
    std::vector<std::byte> body;
    Deadline begun;  // when its first byte arrived
};

/// A run directory, open.
struct Directory {
    std::string path;
    Descriptor descriptor;
    uid_t owner = 0;
    bool is_for_group = false;  // root's, where a group may create files: mode 3775
};

/// Limit of the time that a provider may take for an answer.
inline constexpr auto patience = std::chrono::seconds(1);
Deadline soon();
/// A busy provider takes or sends at least eight megabytes a second; a slower one has stopped.
std::chrono::nanoseconds time_to_move(size_t bytes);

class ProviderConnection {
  public:
    /// Connects to the socket `name`, if a trusted user owns it: root, this process's user, or the
    /// directory's owner. Where root lets a group create files, each of its members is trusted. After the deadline a connect does not wait. A socket of this user on which
    /// no process listens is removed.
    ///
    /// Errors: ETIMEDOUT if too many connections wait for the provider. ENXIO if another user owns
    ///         the socket, or no process listens. EMFILE or ENFILE if there is no descriptor, or only
    ///         the last ones, which the reader itself needs.
    static Result<std::unique_ptr<ProviderConnection>> open(const Directory& directory,
                                                            const std::string& name,
                                                            Deadline deadline);

    /// The user of the provider's process.
    uid_t peer() const { return peer_.uid; }

    bool owes_reply() const { return owes_; }

    /// In a child of fork(): the connection is its parent's, who takes the replies.
    bool is_inherited() const { return owner_ != getpid(); }

    /// Sends one request; no reply may be owed. `reply_size`: the bytes that its reply is known to have, or
    /// 0. False: the connection is dead.
    bool send(wire::Op op, wire::Bytes body, wire::Bytes data, size_t reply_size,
              Deadline deadline);

    /// Waits for the owed reply. A reply that has already arrived is taken even after the deadline.
    ///
    /// Errors: ETIMEDOUT if the provider is silent, or its process is stopped. ECONNRESET if the
    ///         provider has closed the connection, EPROTO after bytes that no provider sends: the
    ///         connection is dead.
    Result<Reply> receive(Deadline deadline);

  private:
    ProviderConnection(Descriptor socket, ucred peer) : socket_(std::move(socket)), peer_(peer) {}

    enum class Arrival { some, none, end };
    Arrival take_what_arrived(size_t wanted);
    Deadline end_of_wait(Deadline deadline) const;
    bool wait_for_reply(Deadline deadline);

    Descriptor socket_;
    ucred peer_;
    pid_t owner_ = getpid();
    Deadline sent_{};                     // when the last request was sent
    std::chrono::nanoseconds to_move_{};  // added for a long request or reply
    Deadline running_{};  // when the process was last seen not to be stopped, or sent_
    uint32_t sequence_ = 0;
    uint32_t length_max_ = 0;  // of the owed reply
    bool owes_ = false;
    std::vector<std::byte> in_;
    size_t in_size_ = 0;
    Deadline in_since_{};  // when the first byte of in_ arrived
};

}  // namespace blkscope::kstat
