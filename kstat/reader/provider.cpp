#include "kstat/reader/provider.hpp"

#include <unistd.h>

namespace blkscope::kstat {

bool Provider::connect(Deadline deadline) {
    greeted_ = false;
    silent_ = false;
    connection_ = ProviderConnection::open(directory_, name_, deadline);
    if (!connection_) return false;
    const wire::Hello hello{wire::magic, wire::version};
    if (!connection_->send(wire::Op::hello, wire::bytes_of(hello), {}, deadline)) drop();
    return connection_ != nullptr;
}

void Provider::ask(Deadline deadline) {
    if (!connection_) {
        connect(deadline);
        return;
    }
    Reply late;
    if (connection_->owes_reply() &&
        wait(late, std::chrono::steady_clock::now()) != ProviderConnection::Outcome::answered) {
        return;
    }
    if (!connection_->owes_reply() && !connection_->send(wire::Op::chain_id, {}, {}, deadline)) {
        drop();
    }
}

void Provider::hear(Deadline deadline) {
    Reply reply;
    if (connection_ && connection_->owes_reply()) {
        const auto until = silent_ ? std::chrono::steady_clock::now() : deadline;
        if (wait(reply, until) != ProviderConnection::Outcome::dead) return;
    }
    // A closed connection means that the process ended, or that it had too many readers.
    if (!connection_ && connect(deadline)) wait(reply, deadline);
}

ProviderConnection::Outcome Provider::wait(Reply& reply, Deadline deadline) {
    const auto outcome = connection_->receive(reply, deadline);
    switch (outcome) {
        case ProviderConnection::Outcome::answered:
            silent_ = false;
            understand(reply);
            break;
        case ProviderConnection::Outcome::silent:
            silent_ = true;
            break;
        case ProviderConnection::Outcome::dead:
            drop();
    }
    return outcome;
}

void Provider::understand(const Reply& reply) {
    chain_id_ = reply.head.chain_id;
    if (!greeted_) understand_welcome(reply);
}

void Provider::understand_welcome(const Reply& reply) {
    wire::Bytes body(reply.body);
    const auto welcome = wire::take<wire::Welcome>(body);
    if (reply.head.error != 0 || !welcome || welcome->magic != wire::magic) return drop();
    greeted_ = true;
    if (welcome->identity == identity_) return;
    replaced_ = identity_ != 0;
    identity_ = welcome->identity;
    listed_chain_id_ = 0;  // no chain has this id
}

std::optional<Reply> Provider::exchange(wire::Op op, wire::Bytes body, wire::Bytes data) {
    for (int attempt = 0; attempt < 2; ++attempt) {
        if (!is_ready() && !reconnect()) return std::nullopt;
        Reply reply;
        if (!connection_->send(op, body, data, soon())) {
            drop();
            continue;
        }
        switch (wait(reply, soon())) {
            case ProviderConnection::Outcome::answered:
                return reply;
            case ProviderConnection::Outcome::silent:
                return std::nullopt;
            case ProviderConnection::Outcome::dead:
                break;  // the provider may only have had too many readers: one more try
        }
    }
    return std::nullopt;
}

// True if a request can be sent now. Takes a late reply first.
bool Provider::is_ready() {
    Reply late;
    if (connection_ && connection_->owes_reply()) wait(late, std::chrono::steady_clock::now());
    return connection_ && greeted_ && !connection_->owes_reply();
}

// Connects to the same process again, if it still runs; another process's kstats have other
// numbers.
bool Provider::reconnect() {
    Reply welcome;
    if (connection_ || !connect(soon())) return false;
    return wait(welcome, soon()) == ProviderConnection::Outcome::answered && connection_ &&
           !replaced_;
}

bool Provider::may_be_written() const {
    return geteuid() == 0 || (connection_ && connection_->peer() == geteuid());
}

}  // namespace blkscope::kstat
