#include "driver/nbd/transmission/sessions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

#include "base/clock.hpp"

namespace blkscope::nbd {

Sessions::~Sessions() {
    assert(all_.empty() && may_sleep() && waiting_.empty());
}

void Sessions::open(Lane& lane, Arrival arrival) {
    assert(arrival.exp != nullptr && arrival.socket >= 0);
    auto session = std::make_unique<Session>(*this, lane, std::move(arrival));
    all_.add(*session.release());  // close() deletes it
}

void Sessions::close(Session& session) {
    assert(all_.has(session) && session.finished());
    Export& exp = session.exp();
    std::unique_ptr<Session>(&session).reset();
    owner_.session_closed(exp);
}

// ---- The clients of one export ----

bool Sessions::has_clients(uint64_t export_serial) const {
    return all_.any_of(
        [&](const Session& session) { return session.exp().serial == export_serial; });
}

void Sessions::close_clients(uint64_t export_serial) {
    all_.for_each([&](Session& session) {
        if (session.exp().serial == export_serial) session.end();
    });
}

bool Sessions::cut_clients(uint64_t export_serial) {
    all_.for_each([&](Session& session) {
        if (session.exp().serial == export_serial) session.close_now("");
    });
    return !has_clients(export_serial);
}

void Sessions::close_stalled_clients(uint64_t export_serial) {
    all_.for_each([&](Session& session) {
        if (session.exp().serial != export_serial) return;
        session.close_stalled({});
    });
}

std::vector<trace::Request> Sessions::under_way(uint64_t export_serial) {
    std::vector<trace::Request> found;
    const auto add = [&](PendingRequest& request) {
        Session& session = *request.session;
        if (session.exp().serial != export_serial) return;
        if (request.queued > 0) request.lane->lock();  // another worker may start the request
        const int instance = session.exp().device.instance();
        found.push_back(recorded(ring_.kernel(), request, instance));
    };
    memory_.for_each_lent(add);
    all_.for_each([&](Session& session) {
        PendingRequest* const request = session.memory().lent_reserve();
        if (request != nullptr) add(*request);
    });
    ring_.unlock();
    std::ranges::sort(found, {}, &trace::Request::received);
    return found;
}

// ---- A worker's turn ----

void Sessions::resume_yielded() {
    yielded_.drain([](Session& session) { session.resume(); });
}

// A session that still finds no room waits at the end of the list again, in the same order.
void Sessions::resume_waiting() {
    if (waiting_.empty() || !memory_.take_released()) return;
    waiting_.drain([](Session& session) { session.resume(); });
}

void Sessions::serve_all() {
    attention_.drain([this](Session& session) {
        session.serve();
        if (session.finished()) close(session);
    });
}

void Sessions::receive_all() {
    receiving_.drain([this](Session& session) {
        if (!session.receive_next()) receiving_.add(session);
    });
}

// A client that has used its own share waits for its own replies, so nothing closes it. A client
// whose memory others wait for must send or read, or is closed.
void Sessions::tick() {
    unsigned lacking = 0;
    all_.for_each([&](Session& session) { lacking += session.memory().lacks() ? 1 : 0; });
    all_.for_each([&](Session& session) {
        const unsigned others = lacking - (session.memory().lacks() ? 1 : 0);
        assert(others <= lacking);
        session.tick();
        if (others == 0 || !session.memory().is_stalled()) return;
        session.close_stalled("uses memory that others wait for, and neither sends nor reads");
    });
    memory_.tick(!all_.empty());
}

void Sessions::log(const Export& exp, std::string_view why) {
    assert(!why.empty());
    ring_.unlock();  // a reader of our standard error may be slow
    const std::chrono::nanoseconds now(to_ns(ring_.now()));
    log_.print(fmt::format("{}: connection closed: {}", exp.device.name(), why),
               LogLimit::Time(now));
}

}  // namespace blkscope::nbd
