// The end of a boot: what must hold when no request is under way, and what is left after it.

#include <algorithm>
#include <cassert>
#include <utility>

#include "blockdev/device/device.hpp"
#include "boot.hpp"

namespace blkscope::simulation {
namespace {

constexpr uint64_t removed_stream = 0x72656d6f;
constexpr hrtime_t end_ns_max = 60'000'000'000;
// Turns of all workers, their messages and their timers.
constexpr hrtime_t idle_ns_max = 2'000'000;

}  // namespace

void Boot::end_all() {
    for (const auto& client : clients_) {
        client->may_be_closed();
        const bool reset = random_.one_in(2);
        if (!hangs_to_the_end(*client) || !client->is_in()) client->close(reset);
    }
    for (const auto& loiterer : loiterers_) {
        if (random_.one_in(2)) loiterer->close(random_.one_in(2));
    }
    server_->stop();
    if (hung_file_ && plan_.hang->to_the_end) {
        check_closed_in_time(timeline_.now());
        timeline_.after(plan_.hang->ns, [this] { let_go(); });
    }
    step_until(
        [&] {
            return std::all_of(workers_.begin(), workers_.end(),
                               [](const Driven& driven) { return driven.finished; });
        },
        end_ns_max, "a worker has not ended");
}

void Boot::check_left() {
    if (judge_.failed()) return;
    if (kernel_.operations() != 0) {
        judge_.fail("operations left: " + std::to_string(kernel_.operations()));
        return;
    }
    if (executor_.sockets() + executor_.acceptors() + executor_.alarms() > 0) {
        judge_.fail("left of handshakes: " + std::to_string(executor_.sockets()) + " sockets, " +
                    std::to_string(executor_.alarms()) + " alarms");
        return;
    }
    server_.reset();
    if (const unsigned left = kernel_.open_descriptors(); left > 0) {
        judge_.fail("descriptors left open: " + std::to_string(left));
    }
}

// There is one timer for each handshake, and one for each listener.
void Boot::check_door() {
    const size_t handshakes = executor_.sockets();
    if (handshakes > plan_.door.handshakes_max) {
        judge_.fail("more handshakes than the limit: " + std::to_string(handshakes));
    }
    if (executor_.spare_missing) {
        judge_.fail("no descriptor is free after a client was accepted with the spare one");
    }
    if (executor_.alarms() > handshakes + executor_.acceptors()) {
        judge_.fail("a timer of a handshake that has ended");
    }
}

// Whenever no client waits for an answer, and the workers sleep, nothing of any request is left. A client that has
// misbehaved may have requests that it does not know of. The workers may not have heard yet of
// one that has closed.
void Boot::check_quiet() {
    const bool asleep = std::ranges::all_of(workers_, [&](const Driven& driven) {
        return driven.finished || (driven.turn_due && kernel_.asleep(driven.ring));
    });
    const bool answered = std::ranges::all_of(
        clients_, [](const auto& client) { return client->honest() && client->unanswered() == 0; });
    const auto in = std::ranges::count_if(
        clients_, [](const auto& client) { return client->is_in() && !client->is_closed(); });
    size_t connections = 0;
    for (const Driven& driven : workers_) connections += driven.worker->connections();
    const bool heard = connections <= static_cast<size_t>(in);
    if (!asleep || !answered || !heard) return;
    for (const Driven& driven : workers_) {
        if (!driven.finished && !driven.worker->memory().idle()) {
            judge_.fail("a worker has requests or memory of clients that wait for nothing");
        }
    }
    for (size_t i = 0; i < server_->exports(); ++i) {
        if (!server_->device(i).idle()) {
            judge_.fail("a device has requests of clients that wait for nothing");
        }
    }
}

size_t Boot::device_of(const Served& served) const {
    size_t index = 0;
    while (index < server_->exports() && server_->uris(index).front().export_name != served.name) {
        ++index;
    }
    assert(index < server_->exports());
    return index;
}

// Without requests under way the queues' counts equal the clients' counts.
void Boot::check_devices() {
    const auto drained = [&] {
        return std::all_of(workers_.begin(), workers_.end(),
                           [](const Driven& driven) { return driven.worker->connections() == 0; });
    };
    for (const auto& client : clients_) client->close(false);
    if (!step_until(drained, end_ns_max, "a connection is open whose client has closed")) return;
    for (const Served& served : exports_) {
        const kstat_io_t& io = server_->device(device_of(served)).io();
        if (io.wcnt != 0 || io.rcnt != 0) judge_.fail("a queue is not empty at the end");
        uint64_t reads = 0;
        uint64_t writes = 0;
        uint64_t read_bytes = 0;
        uint64_t written_bytes = 0;
        for (const Client* client : served.clients) {
            reads += client->reads;
            writes += client->writes;
            read_bytes += client->read_bytes;
            written_bytes += client->written_bytes;
        }
        const uint64_t errors = judge_.other_errors + judge_.hung_errors + judge_.refused_elsewhere;
        const bool exact = !served.with_liars && errors == 0;
        const bool fewer = io.reads < reads || io.writes < writes || io.nread < read_bytes ||
                           io.nwritten < written_bytes;
        const bool other = io.reads != reads || io.writes != writes || io.nread != read_bytes ||
                           io.nwritten != written_bytes;
        if (fewer || (exact && other)) {
            judge_.fail("counted " + std::to_string(io.reads) + " reads, " +
                        std::to_string(io.writes) + " writes; answered " + std::to_string(reads) +
                        ", " + std::to_string(writes));
        }
        check_partitions(served, exact);
        check_clients(server_->device(device_of(served)));
        if (io.rlentime < io.rtime || io.wlentime < io.wtime || io.rtime < 0) {
            judge_.fail("a queue was longer busy than not empty");
        }
    }
    check_records();
}

// A request is counted on the disk and, with the same times, on its partition. If all requests lie
// in partitions, the partitions' integrals add up to the disk's, to the tick.
void Boot::check_partitions(const Served& served, bool exact) {
    const Device& device = server_->device(device_of(served));
    const std::vector<const kstat_io_t*> counted = device.partitions();
    if (counted.size() != served.plan.partitions.size()) {
        return judge_.fail("a disk without its partitions");
    }
    kstat_io_t sum{};
    for (size_t i = 0; i < counted.size(); ++i) {
        const kstat_io_t& io = *counted[i];
        Share answered;
        for (const Client* client : served.clients) {
            answered.reads += client->shares[i].reads;
            answered.writes += client->shares[i].writes;
        }
        const bool fewer = io.reads < answered.reads || io.writes < answered.writes;
        const bool other = io.reads != answered.reads || io.writes != answered.writes;
        if (fewer || (exact && other))
            judge_.fail("a partition counts other requests than its own");
        if (io.wcnt != 0 || io.rcnt != 0) judge_.fail("a partition's queue is not empty");
        sum.reads += io.reads;
        sum.writes += io.writes;
        sum.wlentime += io.wlentime;
        sum.rlentime += io.rlentime;
    }
    const kstat_io_t& disk = device.io();
    if (sum.reads > disk.reads || sum.writes > disk.writes || sum.wlentime > disk.wlentime ||
        sum.rlentime > disk.rlentime) {
        judge_.fail("partitions count more than their disk");
    }
    const bool all = sum.reads == disk.reads && sum.writes == disk.writes;
    if (all && !counted.empty() &&
        (sum.wlentime != disk.wlentime || sum.rlentime != disk.rlentime)) {
        judge_.fail("the stays in the partitions are not those in their disk");
    }
}

// Each request counts for its client with the times of the disk, whatever clients have closed.
void Boot::check_clients(Device& device) {
    kstat_io_t sum{};
    for (const kstat_io_t* io : device.first_lane().client_counters()) {
        sum.reads += io->reads;
        sum.writes += io->writes;
        sum.nread += io->nread;
        sum.nwritten += io->nwritten;
        sum.wlentime += io->wlentime;
        sum.rlentime += io->rlentime;
    }
    const kstat_io_t& disk = device.io();
    if (sum.reads != disk.reads || sum.writes != disk.writes || sum.nread != disk.nread ||
        sum.nwritten != disk.nwritten) {
        judge_.fail("the clients' requests are not those of their disk");
    }
    if (sum.wlentime != disk.wlentime || sum.rlentime != disk.rlentime) {
        judge_.fail("the stays of the clients' requests are not those in their disk");
    }
}

// The recorders have each request once, with the times that the devices have counted, to the tick.
// The records of a removed export are there, but its counters are not.
void Boot::check_records() {
    std::vector<trace::Request> requests;
    for (const Driven& driven : workers_) {
        const auto all = Recorder::default_records;
        if (driven.worker->recorder().read(0, all, 0, requests).lost > 0) {
            judge_.fail("a record is lost");
        }
    }
    check_recorded(requests);
    for (const Served& served : exports_) check_starts(served, requests);
    if (reloads_ > 0) return;
    kstat_io_t recorded{};
    for (const trace::Request& request : requests) {
        if (!request.transfers()) continue;
        recorded.wlentime += request.started - request.queued;
        recorded.rlentime += request.finished - request.started;
        ++(request.op == trace::Op::read ? recorded.reads : recorded.writes);
    }
    kstat_io_t counted{};
    for (size_t i = 0; i < server_->exports(); ++i) {
        const kstat_io_t& io = server_->device(i).io();
        counted.wlentime += io.wlentime;
        counted.rlentime += io.rlentime;
        counted.reads += io.reads;
        counted.writes += io.writes;
    }
    if (recorded.reads != counted.reads || recorded.writes != counted.writes) {
        judge_.fail("recorded " + std::to_string(recorded.reads) + " reads, " +
                    std::to_string(recorded.writes) + " writes; counted " +
                    std::to_string(counted.reads) + ", " + std::to_string(counted.writes));
    }
    if (recorded.wlentime != counted.wlentime || recorded.rlentime != counted.rlentime) {
        judge_.fail("the times of the recorded requests are not those that were counted");
    }
}

// Devices that are not published have no numbers in the records, but the clients know their cookies.
void Boot::check_starts(const Served& served, std::span<const trace::Request> requests) {
    if (!clocks_.is_true()) return;
    std::vector<trace::Request> own;
    for (const trace::Request& request : requests) {
        const auto asked = [&](const Client* client) { return client->has_used(request.cookie); };
        if (std::ranges::any_of(served.clients, asked)) own.push_back(request);
    }
    std::string wrong = check_obedience(served.settings, own);
    // The tokens of a limit go on through a loss of power; how many are left is not known.
    if (wrong.empty() && !served.lost_power) wrong = check_idle(served.settings, own, idle_ns_max);
    if (!wrong.empty()) judge_.fail(wrong);
}

void Boot::check_recorded(const std::vector<trace::Request>& requests) {
    std::vector<Answer> answers;
    for (const auto& client : clients_) {
        answers.insert(answers.end(), client->answers.begin(), client->answers.end());
    }
    const std::string wrong =
        simulation::check_records(std::move(answers), requests, clocks_.wrong_ns_max());
    if (!wrong.empty()) judge_.fail(wrong);
}

void Boot::check_errors() {
    if (changes_.have_errors()) return;
    if (judge_.sync_errors > 0 && kernel_.sync_failures == 0) {
        judge_.fail("a flush failed without a failed sync");
    }
    const uint64_t by_itself = kernel_.other_failures + kernel_.interruptions / 16;
    const uint64_t through = kernel_.sync_failures > 0 ? judge_.through_errors : 0;
    if (judge_.other_errors - std::min(judge_.other_errors, through) > by_itself) {
        judge_.fail("more requests failed (" + std::to_string(judge_.other_errors) +
                    ") than operations (" + std::to_string(by_itself) + ")");
    }
}

void Boot::end_in_order(std::vector<Image>& contents) {
    ends_ = true;
    const bool hangs = hung_file_ && plan_.hang->to_the_end;
    if (!hangs) check_devices();
    check_errors();
    if (judge_.failed()) return;
    std::vector<Removed> ended;
    for (Served& served : exports_) ended.push_back(removed_from(served));
    end_all();
    if (judge_.failed()) return;
    const bool flushed = server_->all_flushed();
    if (!flushed && kernel_.sync_failures == 0 && kernel_.interruptions == 0 &&
        !changes_.have_errors()) {
        judge_.fail("the last flush failed without a failed sync");
    }
    for (size_t i = 0; i < ended.size(); ++i) {
        check_stored(ended[i], flushed, "after the end");
        if (ended[i].has_content()) contents[i] = ended[i].content(flushed);
    }
    for (Removed& removed : removed_) check_stored(removed, flushed, "after its removal");
    check_left();
}

Boot::Removed Boot::removed_from(Served& served) {
    return {served.file, served.other, std::move(served.oracle), served.plan.cache.has_value()};
}

// Without its memory another server has only what is stable. Behind a volatile cache, what was flushed or has survived
// a loss of power is in the page cache; on the disk only after the last flush.
Image Boot::Removed::content(bool flushed) const {
    if (!file) return Image(other->memory());
    return has_cache && !flushed ? file->cached() : file->disk();
}

// Of a file behind a volatile cache, what a killed server leaves; else what the machine leaves.
Image Boot::left_by_crash(const SimulatedFile& file, bool has_cache, Random& random) {
    return has_cache ? file.cached() : file.crash(random);
}

void Boot::check_stored(Removed& removed, bool flushed, const char* which) {
    if (!removed.has_content()) return;
    if (removed.other) removed.other->restart(false, 1);
    check_image(removed.content(flushed), *removed.oracle, flushed, which);
}

// The disk of an export that has ended: all that was acknowledged is there, unless the end says that a sync failed.
void Boot::check_image(const Image& disk, Oracle& oracle, bool flushed, const char* which) {
    const hrtime_t now = timeline_.now();
    if (flushed && oracle.must_fail(now)) {
        judge_.fail(std::string(which) + ": all is said to be flushed after a failed sync");
    }
    if (flushed) oracle.flushed(now, now);
    const std::string wrong = oracle.check_disk(disk, now);
    if (wrong.empty()) return;
    judge_.fail(std::string(which) + ": " + wrong +
                "; syncs that failed: " + std::to_string(kernel_.sync_failures));
}

// Takes the disks' content now. Later actions of the server change nothing of it.
void Boot::crash(std::vector<Image>& contents) {
    const hrtime_t now = timeline_.now();
    for (size_t i = 0; i < exports_.size(); ++i) {
        Served& served = exports_[i];
        if (served.other) {
            contents[i] = Image(served.other->memory());
            const std::string wrong =
                served.oracle->check_read(0, served.other->memory(), now, now);
            if (!wrong.empty()) judge_.fail("with the other server after a crash: " + wrong);
            continue;
        }
        if (!served.file) {
            contents[i] = Image(served.plan.bytes);
            continue;
        }
        contents[i] = left_by_crash(*served.file, served.plan.cache.has_value(), random_);
        const std::string wrong = served.oracle->check_disk(contents[i], now);
        if (!wrong.empty()) judge_.fail("after a crash: " + wrong);
    }
    Random random(seed_, removed_stream);
    for (const Removed& removed : removed_) {
        if (!removed.file) continue;
        const Image left = left_by_crash(*removed.file, removed.has_cache, random);
        const std::string wrong = removed.oracle->check_disk(left, now);
        if (!wrong.empty()) judge_.fail("of a removed export, after a crash: " + wrong);
    }
    check_errors();
    if (judge_.failed()) return;
    kernel_.faults = {};
    end_all();
    check_left();
}

}  // namespace blkscope::simulation
