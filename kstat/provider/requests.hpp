// The provider's side of the protocol, without sockets: a request in, a reply out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kstat/registry/chain.hpp"
#include "kstat/registry/maps.hpp"
#include "kstat/registry/optionals.hpp"
#include "kstat/registry/zeroed_bytes.hpp"
#include "kstat/wire/message.hpp"

namespace blkscope::kstat {

/// The state of one connection.
struct Session {
    uint64_t identity;        // of this provider, sent in the Welcome
    bool may_write;           // the peer is our user or root
    bool greeted = false;     // the peer speaks our version
    kstat2::Viewer viewer{};  // the kstat2s that the peer may see
};

/// Limit of the bytes after a request's head.
uint32_t request_length_max(const Session& session);

/// A reply in two parts, so that the data of a kstat is not copied once more.
struct Answer {
    std::vector<std::byte> head;  // the ReplyHead, and what follows it
    ZeroedBytes data;             // of a kstat; otherwise empty
};

/// Answers one request. `body` has the alignment of a kstat_named_t, and so has the data behind a
/// DataHead. The function may change `body`: strings become pointers into it.
///
/// Threads: any, one per session. Runs ks_update, ks_snapshot, ks2_update and optionals' callbacks.
Answer answer(Chain& chain, Session& session, const wire::RequestHead& head,
              std::span<std::byte> body);

/// The sources of kstat2 answers.
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
