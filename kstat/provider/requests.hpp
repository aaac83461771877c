// The provider's side of the protocol, without sockets: a request in, a reply out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kstat/registry/chain.hpp"
#include "kstat/registry/maps.hpp"
#include "kstat/registry/optionals.hpp"
#include "kstat/wire/message.hpp"

namespace blkscope::kstat {

/// One connection's standing.
struct Session {
    uint64_t identity;        // of this provider, told in the Welcome
    bool may_write;           // the peer is our user or root
    bool greeted = false;     // the peer speaks our version
    kstat2::Viewer viewer{};  // what of the second kind the peer may see
};

/// The bytes that may follow a request's head.
uint32_t request_length_max(const Session& session);

/// Answers one request. `body` is aligned as a kstat_named_t is, so that the data behind a DataHead
/// is, too; it may be changed (strings become pointers into it).
///
/// Threads: any, one per session. Runs ks_update, ks_snapshot, ks2_update and optionals' callbacks.
std::vector<std::byte> answer(Chain& chain, Session& session, const wire::RequestHead& head,
                              std::span<std::byte> body);

/// What is answered from for kstats of the second kind.
struct Kstat2Source {
    kstat2::Maps& maps = kstat2::Maps::of_this_process();
    kstat2::Optionals& optionals = kstat2::Optionals::of_this_process();
};

struct Kstat2Answer {
    int error = 0;
    std::vector<std::byte> body;
};

/// Answers one of the kstat2 operations, EINVAL to any other.
Kstat2Answer answer_kstat2(const Kstat2Source& source, const Session& session, wire::Op op,
                           wire::Bytes body);

}  // namespace blkscope::kstat
