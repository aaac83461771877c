#include "blockdev/device/lane.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "blockdev/accounting/accounting.hpp"
#include "blockdev/device/device.hpp"
#include "blockdev/device/pacing.hpp"

namespace blkscope {

Lane::Lane(Device& device, Ring& ring, std::unique_ptr<Backing> backing)
    : device_(device), ring_(ring), backing_(std::move(backing)) {
    assert(backing_ != nullptr);
    assert(backing_->size_bytes() >= device.subject_.size_bytes);
    assert(backing_->block_bytes() == device.subject_.block_bytes);
    backing_->attach(ring_);
    ring_.add_observer(*this);
    ring_.lock(device_.lock_);
    ++device_.lanes_;
    device_.accounting_->interrupts().ring_added(ring_);
    ring_.unlock();
}

Lane::~Lane() {
    ring_.lock(device_.lock_);
    assert(active_ == 0);
    alarms_.forget();
    assert(device_.lanes_ > 0);
    --device_.lanes_;
    device_.accounting_->interrupts().ring_removed(ring_);
    // This lane's alarm may have been the only one for other lanes' requests.
    if (alarms_.waits_for_tokens() && device_.queue_.waits()) device_.nudge();
    ring_.unlock();  // the lock may be destroyed with the device
    ring_.remove_observer(*this);
}

void Lane::lock() {
    ring_.lock(device_.lock_);
}

void Lane::connection_opened() {
    ring_.lock(device_.lock_);
    device_.accounting_->connection_opened();
}

// When the last client has closed its connection, the partition table is read again.
void Lane::connection_closed() {
    ring_.lock(device_.lock_);
    CommandCounts& commands = device_.accounting_->commands();
    commands.connection_closed();
    if (commands.connections() == 0) look_at_table();
}

// A flush or a close within the backing's rest may have been the last, so it sets the alarm. A look
// that failed sets none, or looks would never end.
void Lane::look_at_table() {
    if (!device_.table_.touched()) return;
    if (backing_->reads_now()) return device_.look_at_table();
    const hrtime_t ns = backing_->rests_ns();
    if (ns == 0 || when() != never) return;
    ring_.set_alarm(*this, ring_.now() + kernel_ticks(ring_.kernel(), ns), false);
}

void Lane::due() {
    ring_.lock(device_.lock_);
    look_at_table();
}

void Lane::connection_given_up() {
    ring_.lock(device_.lock_);
    device_.accounting_->interrupts().given_up();
}

hrtime_t Lane::now_ns() {
    return kernel_ns(ring_.kernel(), device_.read_clock(*this));
}

Client& Lane::open_client(const ClientIdentity& who, const ConnectionFigures& figures) {
    ring_.lock(device_.lock_);
    const hrtime_t now = now_ns();
    Client& client = device_.accounting_->client_opened(who, figures, now);
    if (client.connections == 1) device_.pacing_->tokens().clients().opened(client, now);
    return client;
}

void Lane::close_client(Client& client, const ConnectionFigures& figures) {
    ring_.lock(device_.lock_);
    const hrtime_t now = now_ns();
    if (client.connections == 1) device_.pacing_->tokens().clients().closed(client, now);
    device_.accounting_->client_closed(client, figures, now);
}

std::vector<const kstat_io_t*> Lane::client_counters() const {
    return device_.accounting_->clients().counters();
}

void Lane::replied(const Buf& buf) {
    ring_.lock(device_.lock_);
    device_.accounting_->replied(buf);
}

void Lane::request_refused() {
    ring_.lock(device_.lock_);
    device_.accounting_->errors().refused();
}

// The worker reads the clock once for all its devices; the device's stamps may be a few ticks
// later.
void Lane::submitting(hrtime_t now) {
    if (!submitted_) return;  // another device's turn
    submitted_ = false;
    ring_.lock(device_.lock_);
    device_.accounting_->submitted(first_submitted_, std::max(now, first_submitted_));
}

}  // namespace blkscope
