// The provider's side of the protocol, without sockets: a request in, a reply out.
#pragma once

#include <cstdint>
#include <kstat/core/chain.hpp>
#include <kstat/wire/message.hpp>
#include <span>
#include <vector>

namespace blkscope::kstat {

/// One connection's standing.
struct Session {
    uint64_t identity;     // of this provider, told in the Welcome
    bool may_write;        // the peer is our user or root
    bool greeted = false;  // the peer speaks our version
};

/// The bytes that may follow a request's head.
uint32_t request_length_max(const Session& session);

/// Answers one request. `body` is aligned as a kstat_named_t is, so that the data behind a DataHead
/// is, too; it may be changed (strings become pointers into it).
///
/// Threads: any, one per session. Runs ks_update and ks_snapshot.
std::vector<std::byte> answer(Chain& chain, Session& session, const wire::RequestHead& head,
                              std::span<std::byte> body);

}  // namespace blkscope::kstat
