// One provider as a reader knows it: its connection, and whether it has anything new.
//
//     unconnected ──connect──▶ greeting ──Welcome──▶ ready ◀──▶ (a request is out)
//          ▲                       │                   │
//          └── identity changed    └──── no answer ────┴──▶ silent ──late reply──▶ ready
//
// A silent one is waited for once. From then on it costs nothing until its late reply is found.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kstat/reader/provider_connection.hpp"

namespace blkscope::kstat {

class Provider {
  public:
    /// `directory` must outlive the provider.
    Provider(const Directory& directory, std::string name)
        : directory_(directory), name_(std::move(name)) {}

    /// An update has two steps, so that all providers are asked before any is waited for. `ask`
    /// connects where needed and sends a question; `hear` takes the answer, until the deadline.
    void ask(Deadline deadline);
    void hear(Deadline deadline);

    /// The process is gone, and its kstats with it.
    bool is_gone() const { return connection_ == nullptr; }

    /// True if another process has taken the place of the one that was listed.
    bool was_replaced() const { return replaced_; }
    void forget_replacement() { replaced_ = false; }

    /// True if its chain is not the one that was listed last, which had this number.
    bool has_news() const { return chain_id_ != listed_chain_id_; }
    void note_listed(kid_t chain_id) { listed_chain_id_ = chain_id; }

    /// One request and its reply, in bounded time. Nothing: it is gone or silent.
    std::optional<Reply> exchange(wire::Op op, wire::Bytes body, wire::Bytes data = {});

    /// Gives up a connection on which something came that no provider sends.
    void drop() { connection_.reset(); }

    /// Whether its kstats may be written by us.
    bool may_be_written() const;

  private:
    bool connect(Deadline deadline);
    bool reconnect();
    ProviderConnection::Outcome wait(Reply& reply, Deadline deadline);
    void understand(const Reply& reply);
    void understand_welcome(const Reply& reply);
    bool is_ready();

    const Directory& directory_;
    std::string name_;
    std::unique_ptr<ProviderConnection> connection_;
    uint64_t identity_ = 0;
    kid_t chain_id_ = 0;
    kid_t listed_chain_id_ = 0;
    bool greeted_ = false;
    bool silent_ = false;
    bool replaced_ = false;
};

}  // namespace blkscope::kstat
