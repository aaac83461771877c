// One provider as seen by a reader: its connection, and whether its chain has changed.
//
//     unconnected ──connect──▶ greeting ──Welcome──▶ ready ◀──▶ (a request is out)
//          ▲                       │                   │
//          └── identity changed    └──── no answer ────┴──▶ silent ──late reply──▶ ready
//
// The reader waits for a silent provider once, and hardly at all if a signal has stopped its process.
// After that the provider costs nothing until its late reply arrives. A provider with a full backlog
// is silent, too: the reader waits once for a place.
//
// A library must not write to a program's standard error. A program whose user may see a line about
// silent providers sets KSTAT_WARN to its own name. Then one line is written for each of them.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "kstat/reader/list_time.hpp"
#include "kstat/reader/provider_connection.hpp"
#include "kstat/reader/slow_answers.hpp"

namespace blkscope::kstat {

class Provider {
  public:
    /// `directory` must outlive the provider.
    Provider(const Directory& directory, std::string name)
        : directory_(directory), name_(std::move(name)) {}

    /// An update has two steps, so that all providers are asked before the reader waits for any.
    /// `ask` connects where needed and sends a question; `hear` takes the answer, until the
    /// deadline. `ask` does not wait for a place in a full backlog, and `hear` does.
    void ask(Deadline deadline);
    void hear(Deadline deadline);

    /// The process id in the name of the socket.
    pid_t pid() const;

    /// The process ended, and its kstats with it.
    bool is_gone() const { return connection_ == nullptr && !is_full_; }

    /// EMFILE or ENFILE if this process had no descriptor for the provider at the last try; else 0.
    int shortage() const { return shortage_; }

    /// True if another process has replaced the listed one.
    bool was_replaced() const { return replaced_; }
    void forget_replacement() { replaced_ = false; }

    /// True if the chain differs from the chain that was listed last.
    bool has_news() const { return chain_id_ != listed_chain_id_; }
    void note_listed(kid_t chain_id) { listed_chain_id_ = chain_id; }

    /// One request and its reply, in bounded time. After too many slow
    /// answers in a row, the next ones are not awaited until ask(). `reply_size`: as for ProviderConnection::send.
    ///
    /// Errors: ETIMEDOUT if the provider is silent or slow, ENXIO if its process has ended.
    Result<Reply> exchange(wire::Op op, wire::Bytes body, wire::Bytes data = {},
                           size_t reply_size = 0);

    /// Asks at once, if the provider is ready: all providers may be asked before any is awaited.
    void ask_ahead(wire::Op op, wire::Bytes body);
    /// Takes what comes of the reply until the deadline; see hear_all().
    void hear_ahead(Deadline deadline);
    /// The reply to the same question, if it was asked ahead. Otherwise as exchange().
    Result<Reply> asked_ahead(wire::Op op, wire::Bytes body);

    /// The reply with a page of a list, as asked_ahead(). ETIMEDOUT if the list's time is over.
    Result<Reply> ask_page(wire::Op op, wire::Bytes body);

    /// Gives up a connection after bytes that no provider sends.
    void drop();

    /// Tells that this provider's statistics are missing, and why; see left_out.hpp.
    void leave_out(const char* what) const;

    /// Whether this process may write the provider's kstats.
    bool may_be_written() const;

    /// For the caller, who begins and ends each list.
    ListTime list_time;

  private:
    bool connect(Deadline deadline);
    bool connect_unless_silent(Deadline deadline);
    bool reconnect();
    void tell_if_it_listens() const;
    Result<Reply> wait(Deadline deadline);
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
    bool silent_ = false;   // no answer, or no place in the backlog
    bool is_full_ = false;  // its backlog, at the last connect
    bool replaced_ = false;
    int shortage_ = 0;
    bool is_asked_ahead_ = false;
    std::optional<Result<Reply>> heard_ahead_;
    SlowAnswers slow_answers_;  // since ask()
};

}  // namespace blkscope::kstat
