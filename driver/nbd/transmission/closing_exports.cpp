#include "driver/nbd/transmission/closing_exports.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "base/log_line.hpp"
#include "blockdev/ring/planted.hpp"
#include "driver/nbd/transmission/session_limits.hpp"

namespace blkscope::nbd {

ClosingExports::~ClosingExports() {
    assert(closing_.empty() && endings_.empty());
}

void ClosingExports::close_clients(uint64_t export_serial) {
    sessions_.close_clients(export_serial);
    if (sessions_.has_clients(export_serial)) endings_.push_back({export_serial, 0});
}

void ClosingExports::close(std::unique_ptr<Export> exp) {
    assert(exp != nullptr);
    close_clients(exp->serial);
    auto closing = std::make_unique<Closing>();
    closing->op = Buf::Op::flush;
    closing->iodone = flushed;
    closing->owner = this;
    closing->exp = std::move(exp);
    closing_.push_back(std::move(closing));
}

void ClosingExports::advance() {
    if (!endings_.empty()) {
        std::erase_if(endings_, [&](const Ending& ending) {
            return !sessions_.has_clients(ending.export_serial);
        });
    }
    has_more_ = false;
    if (closing_.empty()) return;
    const auto next = std::ranges::find_if(
        closing_, [&](const auto& closing) { return may_be_flushed(*closing); });
    if (next != closing_.end()) flush(**next);
    const auto done =
        std::ranges::find_if(closing_, [](const auto& closing) { return closing->flushed; });
    if (done != closing_.end()) {
        sessions_.ring().unlock();  // destroying an export takes too long to keep a device locked
        closing_.erase(done);
    }
    has_more_ = std::ranges::any_of(closing_, [&](const auto& closing) {
        return closing->flushed || may_be_flushed(*closing);
    });
}

// Without clients nothing more is written. The last flush covers writes that no client has flushed.
bool ClosingExports::may_be_flushed(const Closing& closing) const {
    const Export& exp = *closing.exp;
    if (planted("one-ends-at-a-time") && &closing != closing_.front().get()) return false;
    return !closing.flushing && exp.visitors.load() == 0 && !sessions_.has_clients(exp.serial);
}

// After the flush the device is idle.
void ClosingExports::flush(Closing& closing) {
    closing.flushing = true;
    if (planted("last-flush-left-out")) {
        closing.flushed = true;
        return;
    }
    closing.exempt = true;
    closing.exp->device.strategy(closing);
}

void ClosingExports::flushed(Buf& buf) {
    auto& closing = static_cast<Closing&>(buf);
    assert(closing.owner != nullptr);
    assert(closing.flushing);
    assert(!closing.flushed);
    closing.flushed = true;
    if (buf.error == 0) return;
    closing.owner->all_flushed_.store(false);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's buffer belongs to the thread
    const char* const why = std::strerror(buf.error);
    log_line(closing.exp->device.name(), ": flush at the end: ", why,
             "; data that was not flushed before may be lost");
}

void ClosingExports::tick() {
    for (Ending& ending : endings_) {
        if (++ending.seconds < close_seconds_max || planted("stalled-clients-stay")) continue;
        sessions_.close_stalled_clients(ending.export_serial);
    }
}

}  // namespace blkscope::nbd
