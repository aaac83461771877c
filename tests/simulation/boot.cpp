#include "boot.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <optional>
#include <utility>

#include "blockdev/backing/file_backing.hpp"
#include "blockdev/backing/memory_backing.hpp"

namespace blkscope::simulation {
namespace {

constexpr uint64_t boot_stream = 0x626f6f74;
constexpr uint64_t client_stream = 0x636c6965;
constexpr hrtime_t second = 1'000'000'000;
constexpr hrtime_t end_ns_max = 60 * second;
constexpr hrtime_t standstill_ns_max = 40 * second;
constexpr uint64_t events_max = 3'000'000;
constexpr uint64_t turn_ns_max = 3'000;
// Within these a device knows that a sync has failed: the write, the question, and retries of both.
constexpr hrtime_t grace_operations = 100;
constexpr hrtime_t grace_ns = 5'000'000;
constexpr uint32_t direct_block_bytes = 512;
constexpr uint64_t crumbs_request_bytes_max = 16 * page_bytes;

}  // namespace

Boot::Boot(Timeline& timeline, uint64_t seed, const LifePlan& plan, Judge& judge, unsigned number)
    : timeline_(timeline),
      seed_(seed * 16 + number),
      random_(seed_, boot_stream),
      plan_(plan),
      judge_(judge),
      kernel_(timeline, seed_) {
    kernel_.faults = plan.faults;
    kernel_.disk = plan.disk;
}

// After a failure nothing is in a state to be taken down.
Boot::~Boot() {
    timeline_.clear();  // its events are about what goes now
    clients_.clear();
    if (!judge_.failed()) return;
    for (Driven& driven : workers_) static_cast<void>(driven.worker.release());
    for (Served& served : exports_) static_cast<void>(served.exp.release());
}

void Boot::run(std::vector<std::vector<std::byte>>& contents, bool ends_with_crash) {
    judge_.begin();
    make_workers();
    exports_.resize(plan_.exports.size());
    for (size_t i = 0; i < exports_.size(); ++i) make_export(i, contents[i]);
    for (size_t i = 0; i < workers_.size(); ++i) drive(i);
    make_clients();
    bool crashed = false;
    if (ends_with_crash) {
        timeline_.after(static_cast<hrtime_t>(random_.between(100'000, 20'000'000)),
                        [&crashed] { crashed = true; });
    }
    bool reload_due = false;
    if (plan_.reloads && !plan_.cuts.no_reload) {
        timeline_.after(static_cast<hrtime_t>(random_.between(100'000, 10'000'000)),
                        [&reload_due] { reload_due = true; });
    }
    step_until([&] { return crashed || reload_due || clients_over(); }, standstill_ns_max,
               "a client waits for an answer");
    if (reload_due && !crashed && !judge_.failed()) {
        reload(contents);
        step_until([&] { return crashed || clients_over(); }, standstill_ns_max,
                   "a client waits for an answer after a reload");
    }
    if (judge_.failed()) return;
    if (ends_with_crash) return crash(contents);
    end_in_order(contents);
}

// ---- What there is ----

void Boot::make_workers() {
    workers_.resize(plan_.workers);
    for (Driven& driven : workers_) {
        driven.ring = kernel_.rings();
        driven.worker = std::make_unique<nbd::Worker>(false, kernel_);
    }
    for (size_t i = 0; i < workers_.size(); ++i) {
        kernel_.when_ready(workers_[i].ring, [this, i] { drive(i); });
    }
}

std::unique_ptr<Backing> Boot::make_backing(Served& served, const std::vector<std::byte>& content) {
    switch (served.plan.medium) {
        case Medium::memory:
            return std::make_unique<MemoryBacking>(served.plan.bytes);
        case Medium::null:
            return std::make_unique<NullBacking>(served.plan.bytes);
        case Medium::buffered:
        case Medium::direct:
            break;
    }
    const bool direct = served.plan.medium == Medium::direct;
    served.file = std::make_shared<SimulatedFile>(content);
    OpenFile open;
    open.name = "simulated";
    open.fd = kernel_.open_file(served.file, direct);
    open.witness = kernel_.open_file(served.file);
    open.flusher = kernel_.open_file(served.file);
    open.size_bytes = served.plan.bytes;
    open.block_bytes = direct ? direct_block_bytes : 1;
    open.regular = true;
    open.direct = direct;
    open.sparse = random_.one_in(2);
    open.mapping_pays = !direct && random_.one_in(2);
    return std::make_unique<FileBacking>(open, kernel_);
}

void Boot::make_export(size_t index, const std::vector<std::byte>& content) {
    Served& served = exports_[index];
    served.plan = plan_.exports[index];
    served.retired = false;
    served.with_liars = false;
    served.clients.clear();
    if (served.oracle) old_oracles_.push_back(std::move(served.oracle));
    std::unique_ptr<Backing> backing = make_backing(served, content);
    served.oracle = std::make_unique<Oracle>(content);
    if (served.file) {
        served.oracle->watch(served.file->disk());
        served.file->when_sync_failed = [this, oracle = served.oracle.get()] {
            if (plan_.cuts.strict) return;
            oracle->sync_failed(timeline_.now() + grace_operations * plan_.disk.ns_max + grace_ns);
        };
    }
    nbd::Worker& owner = *workers_[served.plan.worker % workers_.size()].worker;
    served.exp = owner.make_export({.name = "export" + std::to_string(index),
                                    .description = "",
                                    .backing = std::move(backing),
                                    .instance = std::nullopt,
                                    .queue_depth = served.plan.depth});
    served.serial = ++last_serial_;
    served.exp->serial = served.serial;
}

void Boot::make_clients() {
    for (unsigned i = 0; i < plan_.clients.size(); ++i) {
        if (plan_.cuts.clients.contains(i)) continue;
        Served& served = exports_[plan_.client_export[i]];
        ClientPlan plan = plan_.clients[i];
        plan.requests = std::min(plan.requests, plan_.cuts.requests_max);
        plan.content = served.plan.medium != Medium::null;
        Random random(seed_, client_stream + i);
        Wire wire;
        wire.room_bytes = uint64_t{1} << random.between(10, 18);
        const bool crumbs = random.one_in(12) && plan.request_bytes_max <= crumbs_request_bytes_max;
        wire.segment_bytes = crumbs ? random.between(1, 64) : random.between(512, 65536);
        wire.delay_ns_max = static_cast<hrtime_t>(random.between(1, 50'000));
        wire.is_unix = random.one_in(2);
        plan.wait_ns_max = wait_allowed(i, wire);
        auto [ours, theirs] = SimulatedSocket::pair(timeline_, random_, wire);
        clients_.push_back(std::make_unique<Client>(
            Client::World{timeline_, *served.oracle, judge_}, random, plan, std::move(theirs)));
        served.clients.push_back(clients_.back().get());
        if (plan.manner != ClientPlan::Manner::honest) served.with_liars = true;
        const nbd::Terms terms{.replies = plan.form,
                               .allocation = plan.form != nbd::ReplyForm::simple,
                               .block_sizes = random.one_in(2)};
        nbd::Worker& worker = *workers_[random.below(workers_.size())].worker;
        worker.hand_over(*served.exp, terms, kernel_.open_socket(ours), nullptr);
        clients_.back()->start();
    }
}

// The bound that fairness gives a client. Before its request all that was there is done, each of
// them in a few steps; and then it takes what it was given itself. 0 where faults make it longer.
hrtime_t Boot::wait_allowed(unsigned client, const Wire& wire) const {
    constexpr hrtime_t steps = 4;
    constexpr hrtime_t turn_ns = 40'000;
    constexpr uint64_t scarce_bytes = uint64_t{24} << 20;
    const Faults& faults = plan_.faults;
    if (faults.interrupted + faults.submit_error + faults.short_transfer > 0) return 0;
    const ClientPlan& own = plan_.clients[client];
    if (own.manner != ClientPlan::Manner::honest) return 0;
    hrtime_t there = 2;  // in the device
    hrtime_t all = 8;    // with the worker
    uint64_t bytes = 0;
    for (unsigned i = 0; i < plan_.clients.size(); ++i) {
        const ClientPlan& other = plan_.clients[i];
        if (plan_.client_export[i] == plan_.client_export[client]) there += other.depth;
        all += other.depth;
        bytes += other.depth * other.request_bytes_max;
    }
    if (bytes > scarce_bytes) return 0;  // memory is waited for, too
    const uint64_t part =
        std::min({wire.room_bytes, own.take_bytes_max / 4 + 1, wire.segment_bytes / 4 + 1});
    const auto parts = static_cast<hrtime_t>(own.depth * (own.request_bytes_max / part + 4));
    const hrtime_t each = 2 * wire.delay_ns_max + own.pause_ns_max + 20'000;
    return there * steps * plan_.disk.ns_max + all * turn_ns + parts * each;
}

// ---- Turns ----

// One step of a worker: what a wait() has brought, and the next wait().
void Boot::drive(size_t index) {
    Driven& driven = workers_[index];
    if (driven.finished) return;
    if (driven.turn_due) {
        driven.worker->turn();
        timeline_.spend(static_cast<hrtime_t>(random_.between(1, turn_ns_max)));
    } else {
        driven.worker->begin();
        driven.turn_due = true;
    }
    driven.finished = driven.worker->finished();
    if (driven.finished) return;
    driven.worker->wait();
    if (kernel_.asleep(driven.ring)) return;
    timeline_.after(static_cast<hrtime_t>(random_.between(1, turn_ns_max)),
                    [this, index] { drive(index); });
}

// False: it did not come to that. `patience` is from one answer to the next.
template <class Until>
bool Boot::step_until(Until until, hrtime_t patience, const char* what) {
    uint64_t answers = judge_.answers;
    hrtime_t since = timeline_.now();
    const uint64_t events = timeline_.happened();
    while (!judge_.failed() && !until()) {
        if (!timeline_.step()) {
            judge_.fail(std::string("nothing happens any more: ") + what);
            break;
        }
        if (judge_.answers != answers) {
            answers = judge_.answers;
            since = timeline_.now();
        }
        if (timeline_.now() - since > patience) {
            std::string who;
            for (const auto& client : clients_) {
                if (!client->over() && who.empty()) who = client->describe();
            }
            judge_.fail(std::string("hang: ") + what + ": " + who);
        }
        if (timeline_.happened() - events > events_max) judge_.fail("it never comes to rest");
    }
    return !judge_.failed();
}

bool Boot::clients_over() const {
    return std::all_of(clients_.begin(), clients_.end(),
                       [](const auto& client) { return client->over(); });
}

// ---- Reload ----

void Boot::retire(size_t index) {
    Served& served = exports_[index];
    if (served.retired) return;
    served.retired = true;
    for (Client* client : served.clients) client->may_be_closed();
    nbd::Worker& owner = served.exp->worker;
    for (Driven& driven : workers_) {
        if (driven.worker.get() != &owner) driven.worker->end_clients(served.serial);
    }
    owner.retire(std::move(served.exp));
}

// One export goes; another comes in its place, with the content that the first one has left.
void Boot::reload(std::vector<std::vector<std::byte>>& contents) {
    const size_t index = random_.below(exports_.size());
    Served& served = exports_[index];
    std::shared_ptr<SimulatedFile> file = served.file;
    std::vector<Client*> clients = served.clients;
    retire(index);
    const auto all_gone = [&] {
        return std::all_of(clients.begin(), clients.end(),
                           [](const Client* client) { return client->gone() || client->over(); });
    };
    if (!step_until(all_gone, standstill_ns_max, "clients of an export that goes")) return;
    for (Client* client : clients) client->leave(true);
    std::fill(contents[index].begin(), contents[index].end(), std::byte{});
    make_export(index, contents[index]);
}

// ---- The end ----

void Boot::end_all() {
    for (const auto& client : clients_) {
        client->may_be_closed();
        client->leave(random_.one_in(2));
    }
    for (size_t i = 0; i < exports_.size(); ++i) retire(i);
    for (Driven& driven : workers_) driven.worker->stop();
    step_until(
        [&] {
            return std::all_of(workers_.begin(), workers_.end(),
                               [](const Driven& driven) { return driven.finished; });
        },
        end_ns_max, "a worker ends");
}

void Boot::check_left() {
    if (judge_.failed()) return;
    if (kernel_.operations() != 0) {
        judge_.fail("operations left: " + std::to_string(kernel_.operations()));
        return;
    }
    for (Driven& driven : workers_) driven.worker.reset();
    exports_.clear();
    if (const unsigned left = kernel_.open_descriptors(); left > 0) {
        judge_.fail("descriptors left open: " + std::to_string(left));
    }
}

// No request is anywhere: what the queues count is what the clients were answered.
void Boot::check_devices() {
    const auto drained = [&] {
        return std::all_of(workers_.begin(), workers_.end(),
                           [](const Driven& driven) { return driven.worker->connections() == 0; });
    };
    for (const auto& client : clients_) client->leave(false);
    if (!step_until(drained, end_ns_max, "a connection whose client has gone")) return;
    for (const Served& served : exports_) {
        if (!served.exp) continue;
        const kstat_io_t& io = served.exp->device.io();
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
        const bool exact = !served.with_liars && judge_.other_errors == 0;
        const bool fewer = io.reads < reads || io.writes < writes || io.nread < read_bytes ||
                           io.nwritten < written_bytes;
        const bool other = io.reads != reads || io.writes != writes || io.nread != read_bytes ||
                           io.nwritten != written_bytes;
        if (fewer || (exact && other)) {
            judge_.fail("counted " + std::to_string(io.reads) + " reads, " +
                        std::to_string(io.writes) + " writes; answered " + std::to_string(reads) +
                        ", " + std::to_string(writes) + "; " + served.clients.front()->describe());
        }
        if (io.rlentime < io.rtime || io.wlentime < io.wtime || io.rtime < 0) {
            judge_.fail("a queue was longer in use than it had anything in it");
        }
    }
}

void Boot::check_errors() {
    if (judge_.sync_errors > 0 && kernel_.sync_failures == 0) {
        judge_.fail("a flush failed, and no sync had");
    }
    const uint64_t by_itself = kernel_.other_failures + kernel_.interruptions / 16;
    const uint64_t through = kernel_.sync_failures > 0 ? judge_.through_errors : 0;
    if (judge_.other_errors - std::min(judge_.other_errors, through) > by_itself) {
        judge_.fail("more requests failed (" + std::to_string(judge_.other_errors) +
                    ") than operations (" + std::to_string(by_itself) + ")");
    }
}

void Boot::end_in_order(std::vector<std::vector<std::byte>>& contents) {
    check_devices();
    check_errors();
    if (judge_.failed()) return;
    std::vector<std::shared_ptr<SimulatedFile>> files;
    for (const Served& served : exports_) files.push_back(served.file);
    std::vector<std::unique_ptr<Oracle>> oracles;
    for (Served& served : exports_) oracles.push_back(std::move(served.oracle));
    end_all();
    if (judge_.failed()) return;
    const bool flushed = std::all_of(workers_.begin(), workers_.end(), [](const Driven& driven) {
        return driven.worker->all_flushed();
    });
    if (!flushed && kernel_.sync_failures == 0 && kernel_.interruptions == 0) {
        judge_.fail("the last flush failed, and no sync had");
    }
    for (size_t i = 0; i < files.size(); ++i) {
        if (!files[i]) continue;
        if (flushed) oracles[i]->flushed(timeline_.now(), timeline_.now());
        const std::string wrong = oracles[i]->check_disk(files[i]->disk(), timeline_.now());
        if (!wrong.empty()) {
            judge_.fail("after the end: " + wrong +
                        "; syncs that failed: " + std::to_string(kernel_.sync_failures));
        }
        contents[i] = files[i]->disk();
    }
    check_left();
}

// The disks are what they are at this moment. What the server does afterwards reaches none of them.
void Boot::crash(std::vector<std::vector<std::byte>>& contents) {
    const hrtime_t now = timeline_.now();
    for (size_t i = 0; i < exports_.size(); ++i) {
        Served& served = exports_[i];
        if (!served.file) {
            std::fill(contents[i].begin(), contents[i].end(), std::byte{});
            continue;
        }
        contents[i] = served.file->crash(random_);
        const std::string wrong = served.oracle->check_disk(contents[i], now);
        if (!wrong.empty()) judge_.fail("after a crash: " + wrong);
    }
    check_errors();
    if (judge_.failed()) return;
    kernel_.faults = {};
    end_all();
    check_left();
}

}  // namespace blkscope::simulation
