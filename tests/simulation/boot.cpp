#include "boot.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <iterator>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include "blockdev/backing/file_backing.hpp"
#include "blockdev/backing/memory_backing.hpp"
#include "blockdev/device/device.hpp"
#include "boot_elsewhere.hpp"

namespace blkscope::simulation {
namespace {

constexpr uint64_t boot_stream = 0x626f6f74;
constexpr uint64_t client_stream = 0x636c6965;
constexpr uint64_t loiterer_stream = 0x6c6f6974;
constexpr uint64_t truncation_stream = 0x7472756e;
constexpr uint64_t change_stream = 0x6368616e;
constexpr uint64_t clocks_stream = 0x636c6f63;
constexpr uint64_t tls_manner_stream = 0x746d616e;
constexpr uint64_t names_stream = 0x6e616d65;
constexpr hrtime_t changes_ns = 8'000'000;  // from the start on
constexpr hrtime_t clocks_ns = 20'000'000;  // the same, until the last step of a clock
constexpr hrtime_t second = 1'000'000'000;
constexpr hrtime_t stalled_ns_max = 40 * second;
constexpr uint64_t events_max = 3'000'000;
constexpr uint64_t turn_ns_max = 3'000;
// A device must notice a failed sync within so many operations: the write, the query and their
// retries.
constexpr hrtime_t grace_operations = 100;
constexpr hrtime_t grace_ns = 5'000'000;
constexpr uint32_t direct_block_bytes = 512;
constexpr uint64_t crumbs_request_bytes_max = 16 * page_bytes;
// A listener pauses after an error, and each queued client may cause some.
constexpr hrtime_t accept_ns_max = 4 * second;
constexpr hrtime_t power_ns_max = 6 * second;        // of one loss of power
constexpr hrtime_t write_back_ns_max = second / 50;  // of a whole volatile cache, by direct calls
// The server waits for 5 s for clients that do not read, and for disks. They may read the rest later.
constexpr hrtime_t removed_ns_max = 10 * second;
constexpr hrtime_t handshake_grace_ns = second / 2;
constexpr const char* network = "198.51.100.";  // of all clients with an address

// A peer of this kind of connection.
nbd::Peer peer_of(const Wire& wire, unsigned owner, unsigned process) {
    nbd::Peer peer;
    if (wire.is_unix) {
        peer.kind = nbd::Peer::Kind::process;
        peer.uid = 1000 + owner;
        peer.pid = static_cast<pid_t>(2000 + process);
        return peer;
    }
    peer.kind = nbd::Peer::Kind::address;
    peer.address = nbd::IpAddress::parse(network + std::to_string(owner));
    peer.port = static_cast<uint16_t>(40'000 + process);
    return peer;
}

void draw_tls(Random random, ClientPlan& plan) {
    plan.tls.old_version = random.one_in(4);
    if (random.one_in(3)) plan.tls.key_updates = static_cast<unsigned>(random.between(1, 16));
    if (!random.one_in(4)) return;
    plan.manner = ClientPlan::Manner::wrong_record;
    plan.tls.misuse = static_cast<TlsMisuse>(random.below(tls_misuses));
    plan.tls.at_once = random.one_in(4);
    plan.misbehaves_after = static_cast<unsigned>(random.below(plan.requests));
    plan.tls.quiet = random.one_in(2);
    if (plan.tls.old_version && random.one_in(2)) plan.tls.misuse = TlsMisuse::renegotiation;
}

}  // namespace

std::vector<std::string> RulesPlan::allow_list() const {
    std::vector<std::string> entries;
    for (const auto& [first, prefix_bits] : allowed) {
        entries.push_back(network + std::to_string(first) + "/" + std::to_string(prefix_bits));
    }
    return entries;
}

bool RulesPlan::allows(unsigned owner) const {
    return allowed.empty() || std::any_of(allowed.begin(), allowed.end(), [&](const auto& entry) {
               return owner >= entry.first && owner < entry.first + (1U << (32 - entry.second));
           });
}

Boot::Boot(Timeline& timeline, uint64_t seed, const LifePlan& plan, Judge& judge, unsigned number)
    : timeline_(timeline),
      seed_(seed * 16 + number),
      random_(seed_, boot_stream),
      plan_(plan),
      judge_(judge),
      clocks_(plan.cuts.no_clocks
                  ? ClockPlan{}
                  : draw_clocks(Random(seed_, clocks_stream), timeline.now(), clocks_ns)),
      changes_(Random(seed_, change_stream)),
      kernel_(timeline, seed_),
      executor_(timeline, kernel_, seed_) {
    rules_ = plan.door.rules;
    executor_.accept_error = plan.door.accept_error;
    executor_.sockets_max = plan.door.sockets_max;
    executor_.spare_lost = plan.door.spare_lost;
    kernel_.faults = plan.faults;
    kernel_.disk = plan.disk;
    kernel_.clock.set_plan(clocks_, seed_);
    keeps_names_ = Random(seed_, names_stream).one_in(2);
}

// After a failure the objects cannot be destroyed in order.
Boot::~Boot() {
    timeline_.clear();  // events refer to the objects below
    clients_.clear();
    loiterers_.clear();
    if (judge_.failed()) static_cast<void>(server_.release());
}

void Boot::run(std::vector<Image>& contents, bool ends_with_crash) {
    judge_.begin();
    make_server();
    exports_.resize(plan_.exports.size());
    for (size_t i = 0; i < exports_.size(); ++i) server_->add(make_export(i, contents[i]));
    server_->start();
    make_clients();
    make_loiterers();
    plan_changes();
    plan_hang();
    plan_power_losses();
    if (plan_.reloads && !plan_.cuts.no_reload) {
        executor_.later(static_cast<hrtime_t>(random_.between(1, 1'000'000)),
                        [this] { try_failing_reload(); });
    }
    run_clients(contents, ends_with_crash);
    if (judge_.failed()) return;
    if (ends_with_crash) return crash(contents);
    end_in_order(contents);
}

void Boot::run_clients(std::vector<Image>& contents, bool ends_with_crash) {
    if (ends_with_crash) {
        timeline_.after(static_cast<hrtime_t>(random_.between(100'000, 20'000'000)),
                        [this] { crashed_ = true; });
    }
    if (plan_.reloads && !plan_.cuts.no_reload) {
        timeline_.after(static_cast<hrtime_t>(random_.between(100'000, 10'000'000)),
                        [this] { reload_due_ = true; });
    }
    if (plan_.truncates) {
        Random random(seed_, truncation_stream);
        timeline_.after(static_cast<hrtime_t>(random.between(100'000, 5'000'000)),
                        [this] { truncate_one(); });
    }
    do {
        if (std::exchange(reload_due_, false)) reload(contents);
        if (std::exchange(power_due_, false)) lose_power();
        step_until([&] { return crashed_ || reload_due_ || power_due_ || clients_over(); },
                   stalled_ns_max, "no answer for a client");
    } while ((reload_due_ || power_due_) && !crashed_ && !judge_.failed());
    if (!plan_.door.waits_for_loiterers || crashed_) return;
    step_until([&] { return crashed_ || loiterers_over(); }, stalled_ns_max,
               "a handshake is open after its time");
}

// ---- Making the parts ----

nbd::Server::Options Boot::options_of(const RulesPlan& rules) const {
    nbd::Server::Options options;
    options.workers = plan_.workers;
    options.busy_wait = false;
    options.handshake_time = std::chrono::milliseconds(plan_.door.handshake_ns / 1'000'000);
    options.handshakes_max = plan_.door.handshakes_max;
    options.allow = nbd::AllowList(rules.allow_list());
    if (rules.tls != nbd::TlsMode::off) options.tls = make_tls_context(rules.tls);
    return options;
}

void Boot::make_server() {
    nbd::WorkerSource source;
    source.make = [this](bool) { return make_worker(); };
    source.start = [this](nbd::Worker& worker) { start_worker(worker); };
    source.go_on = [this] { return wait_a_moment(); };
    server_ = std::make_unique<nbd::Server>(executor_, options_of(rules_), std::move(source));
    server_->listen_unix(SimulatedExecutor::unix_path);
    server_->listen_tcp(SimulatedExecutor::tcp_address, nbd::tcp_port);
}

std::unique_ptr<nbd::Worker> Boot::make_worker() {
    assert(workers_.size() < plan_.workers);
    const size_t index = workers_.size();
    Driven& driven = workers_.emplace_back();
    driven.ring = kernel_.rings();
    auto worker = std::make_unique<nbd::Worker>(false, kernel_);
    driven.worker = worker.get();
    kernel_.when_ready(driven.ring, [this, index] { drive(index); });
    return worker;
}

void Boot::start_worker(const nbd::Worker& worker) {
    for (size_t i = 0; i < workers_.size(); ++i) {
        if (workers_[i].worker == &worker) return drive(i);
    }
    assert(false);
}

std::unique_ptr<Backing> Boot::make_backing(Served& served, const Image& content) {
    switch (served.plan.medium) {
        case Medium::memory:
            return std::make_unique<MemoryBacking>(served.plan.bytes);
        case Medium::null:
            return std::make_unique<NullBacking>(served.plan.bytes);
        case Medium::elsewhere:
            return make_other_server(served, content);
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
    open.confirmer = kernel_.open_file(served.file);
    open.size_bytes = served.plan.bytes;
    open.block_bytes = direct ? direct_block_bytes : 1;
    open.regular = true;
    open.direct = direct;
    open.sparse = random_.one_in(2);
    open.mapping_pays = !direct && random_.one_in(2);
    return std::make_unique<FileBacking>(open, kernel_);
}

nbd::ExportOptions Boot::make_export(size_t index, const Image& content) {
    Served& served = exports_[index];
    served.plan = plan_.exports[index];
    served.name = "export" + std::to_string(index);
    if (reloads_ > 0 && !keeps_names_) served.name += "." + std::to_string(reloads_);
    served.with_liars = served.closes = served.cut = served.lost_power = false;
    served.settings = {{timeline_.now(), served.plan.depth, std::nullopt, 0}};
    served.clients.clear();
    if (served.oracle) {
        removed_.push_back(removed_from(served));
    }
    std::unique_ptr<Backing> backing = with_cache(served, make_backing(served, content));
    served.oracle = std::make_unique<Oracle>(content, reloads_);
    if (!served.plan.partitions.empty()) {
        std::vector<std::byte> table(table_bytes);
        content.read(0, table);
        served.oracle->keep(table);
    }
    if (served.file) {
        served.oracle->watch(served.plan.cache ? served.file->cached() : served.file->disk());
        served.file->when_sync_failed = [this, oracle = served.oracle.get()] {
            if (plan_.cuts.strict) return;
            // Behind models and faults, and while a disk hangs, no bound says when the device notices it.
            if (plan_.changes > 0 || plan_.hang)
                return oracle->sync_failed(std::numeric_limits<hrtime_t>::max());
            oracle->sync_failed(timeline_.now() + grace_operations * plan_.disk.ns_max + grace_ns);
        };
    }
    return {.name = served.name,
            .description = "",
            .backing = std::move(backing),
            .crash_cache = std::move(served.cache),
            .instance = std::nullopt,
            .queue_depth = served.plan.depth,
            .read_only = served.plan.read_only && !served.other};
}

Wire Boot::draw_wire(Random& random, bool crumbs) {
    Wire wire;
    wire.room_bytes = uint64_t{1} << random.between(10, 18);
    wire.segment_bytes = crumbs ? random.between(1, 64) : random.between(512, 65536);
    wire.delay_ns_max = static_cast<hrtime_t>(random.between(1, 50'000));
    wire.is_unix = random.one_in(2);
    return wire;
}

void Boot::make_clients() {
    for (unsigned i = 0; i < plan_.clients.size(); ++i) {
        if (!plan_.cuts.clients.contains(i)) make_client(i);
    }
}

// Each client is another owner.
void Boot::make_client(unsigned number) {
    Served& served = exports_[plan_.client_export[number]];
    ClientPlan plan = plan_.clients[number];
    plan.requests = std::min(plan.requests, plan_.cuts.requests_max);
    plan.content = served.plan.medium != Medium::null;
    plan.punches = !served.file || plan_.disk.can_punch;
    plan.zeroes_in_place = !served.file || plan_.disk.can_zero_range;
    if (served.plan.cache) plan.punches = plan.zeroes_in_place = false;  // zeroes are its data
    plan.lies = served.plan.cache && served.plan.cache->ignores_flush;
    plan.shares = served.plan.partitions;
    if (served.other) meet_terms(served.other->terms(), plan_.changes > 0, plan);
    plan.first_byte = plan.shares.empty() ? 0 : table_bytes;
    plan.read_only = served.plan.read_only && !served.other;
    plan.device_block = served.plan.medium == Medium::direct ? direct_block_bytes : 1;
    if (served.plan.medium == Medium::buffered) plan.read_ahead = served.file;
    if (served.plan.bytes > wide_bytes_min) plan.wide = wide_plan(served, plan);
    Random random(seed_, client_stream + number);
    const bool crumbs = random.one_in(12) && plan.request_bytes_max <= crumbs_request_bytes_max;
    const Wire wire = draw_wire(random, crumbs);
    plan.wait_ns_max = wait_allowed(number, wire);
    plan.entry_ns_max = entry_allowed(plan, wire);
    plan.visit = reloads_ + power_losses_;
    plan.barred = !wire.is_unix && !rules_.allows(number);
    Invitation invitation{.export_name = served.name,
                          .export_bytes = served.plan.bytes,
                          .exports = exports_.size(),
                          .form = plan.form,
                          .mode = rules_.tls,
                          .tls = plan_.tls && !random.one_in(4)};
    if (served.other) {
        meet_terms(served.other->terms(), invitation);
    } else {
        invitation.flags = flags_of(served.plan);
    }
    if (plan_.hang && plan_.hang->exp == plan_.client_export[number]) plan.wait_ns_max = 0;
    if (invitation.tls) {
        plan.wait_ns_max = plan.entry_ns_max = 0;
        draw_tls(Random(seed_, tls_manner_stream + number), plan);
    }
    clients_.push_back(std::make_unique<Client>(Client::World{timeline_, *served.oracle, judge_},
                                                random, plan, invitation));
    Client* const client = clients_.back().get();
    served.clients.push_back(client);
    if (served.file && served.file == hung_file_) hung_clients_.push_back(client);
    client->set_explains([this, file = served.file](const FailedRequest& failed) {
        return explains(file.get(), failed);
    });
    if (served.closes) client->may_be_closed();
    if (served.cut) client->file_was_cut(served.file);
    if (plan.manner != ClientPlan::Manner::honest) served.with_liars = true;
    const nbd::Peer peer = peer_of(wire, number, number);
    const auto when = static_cast<hrtime_t>(random.between(1, 100'000));
    timeline_.after(when, [this, client, wire, peer] {
        if (!client->is_closed()) client->start(executor_.connect(wire, peer));
    });
}

// In memory, zeroes that leave no hole take memory. In a file that may be cut, zeroes behind the end are written.
WidePlan Boot::wide_plan(const Served& served, const ClientPlan& plan) const {
    const bool file = served.file != nullptr;
    if (served.plan.cache) {
        return {.punches = true, .extended = plan.form == nbd::ReplyForm::extended};
    }
    return {.punches = !file || (!plan_.truncates && (plan.punches || plan.zeroes_in_place)),
            .zeroes_in_place = file ? !plan_.truncates && plan.zeroes_in_place
                                    : served.plan.medium == Medium::null,
            .extended = plan.form == nbd::ReplyForm::extended,
            .block_bytes = plan.block_bytes};
}

// A local disk can do all. Direct I/O has no cache to fill.
uint16_t Boot::flags_of(const ExportPlan& plan) {
    namespace flag = nbd::transmission_flag;
    uint16_t flags = flag::has_flags | flag::send_flush | flag::can_multi_conn;
    if (plan.medium != Medium::direct) flags |= flag::send_cache;
    if (plan.read_only) return flags | flag::read_only;
    return flags | flag::send_fua | flag::send_trim | flag::send_write_zeroes |
           flag::send_fast_zero;
}

// A rule fails a request before the storage has it.
bool Boot::explains(const SimulatedFile* file, const FailedRequest& failed) const {
    const bool of_rule = failed.error == nbd::Error::eio || failed.error == nbd::Error::enospc;
    const bool at_begin = !failed.at || *failed.at == failed.request.offset;
    if (changes_.have_errors() && of_rule && at_begin) return true;
    return explain(kernel_.failures, file, failed);
}

// Loiterers come at the same time as clients. A few owners have all of them.
void Boot::make_loiterers() {
    for (unsigned i = 0; i < plan_.door.loiterers; ++i) {
        Random random(seed_, loiterer_stream + i);
        const Wire wire = draw_wire(random, random.one_in(12));
        const auto owner = static_cast<unsigned>(random.below(plan_.door.loiterer_owners));
        const auto first_owner = static_cast<unsigned>(plan_.clients.size());
        const nbd::Peer peer = peer_of(wire, first_owner + owner, first_owner + i);
        const auto when = static_cast<hrtime_t>(random.between(1, 1'000'000));
        timeline_.after(when, [this, random, wire, peer] {
            loiterers_.push_back(std::make_unique<Loiterer>(
                timeline_, judge_, random, executor_.connect(wire, peer),
                plan_.door.handshake_ns + accept_ns_max + handshake_grace_ns));
        });
    }
}

// A handshake has some exchanges, each in parts. The bound does not include the time of other
// handshakes.
hrtime_t Boot::entry_allowed(const ClientPlan& plan, const Wire& wire) const {
    constexpr uint64_t exchanges = 16;
    constexpr uint64_t answer_bytes = 2048;
    constexpr hrtime_t question_bytes = 16384;
    const uint64_t part =
        std::min({wire.room_bytes, plan.take_bytes_max / 4 + 1, wire.segment_bytes / 4 + 1});
    const auto parts = static_cast<hrtime_t>(4 * exchanges + answer_bytes / part);
    const hrtime_t each = 2 * wire.delay_ns_max + plan.pause_ns_max + 60'000;
    const hrtime_t all = parts * each + question_bytes * 4'000 + 2'000'000;
    assert(all < plan_.door.handshake_ns);
    const bool pauses = plan_.door.accept_error > 0 || plan_.door.spare_lost > 0;
    // While a loss of power waits for a disk or another server, the control thread makes no handshakes.
    const bool slow = plan_.hang || std::ranges::any_of(plan_.exports, [](const ExportPlan& exp) {
                          return exp.medium == Medium::elsewhere;
                      });
    const hrtime_t waits = plan_.power_losses * (slow ? power_ns_max : write_back_ns_max);
    return all + waits + (pauses ? accept_ns_max : 0);
}

// The bound that fairness gives a client. All earlier requests are done first, each in a few steps.
// Then the client receives its own replies. 0: faults make the bound unknown.
hrtime_t Boot::wait_allowed(unsigned client, const Wire& wire) const {
    constexpr hrtime_t steps = 4;
    constexpr hrtime_t turn_ns = 40'000;
    constexpr uint64_t scarce_bytes = uint64_t{24} << 20;
    const Faults& faults = plan_.faults;
    if (plan_.changes > 0 || plan_.power_losses > 0)
        return 0;  // a cache is written back in one turn
    const auto wide = [](const ExportPlan& exp) { return exp.bytes > wide_bytes_min; };
    if (std::ranges::any_of(plan_.exports, wide)) return 0;  // long requests take many operations
    if (faults.interrupted + faults.submit_error + faults.short_transfer > 0) return 0;
    const ClientPlan& own = plan_.clients[client];
    if (own.manner != ClientPlan::Manner::honest) return 0;
    if (plan_.exports[plan_.client_export[client]].medium == Medium::elsewhere) return 0;
    hrtime_t there = 2;  // requests in the device
    hrtime_t all = 8;    // requests with the worker
    uint64_t bytes = 0;
    for (unsigned i = 0; i < plan_.clients.size(); ++i) {
        const ClientPlan& other = plan_.clients[i];
        if (plan_.client_export[i] == plan_.client_export[client]) there += other.depth;
        all += other.depth;
        bytes += other.depth * other.request_bytes_max;
    }
    if (bytes > scarce_bytes) return 0;  // clients also wait for memory
    const uint64_t part =
        std::min({wire.room_bytes, own.take_bytes_max / 4 + 1, wire.segment_bytes / 4 + 1});
    const auto parts = static_cast<hrtime_t>(own.depth * (own.request_bytes_max / part + 4));
    const hrtime_t each = 2 * wire.delay_ns_max + own.pause_ns_max + 20'000;
    return there * steps * plan_.disk.ns_max + all * turn_ns + parts * each +
           clocks_.wrong_ns_max();
}

// ---- Turns ----

// One step of a worker: the turn after a wait(), and the next wait().
void Boot::drive(size_t index) {
    Driven& driven = workers_[index];
    if (driven.finished) return;
    const SimulatedClock::Running running(kernel_.clock, driven.ring + 1);
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
    if (kernel_.asleep(driven.ring)) return check_quiet();
    timeline_.after(static_cast<hrtime_t>(random_.between(1, turn_ns_max)),
                    [this, index] { drive(index); });
}

bool Boot::step_until(const std::function<bool()>& until, hrtime_t limit, const char* what) {
    uint64_t answers = judge_.answers;
    hrtime_t since = timeline_.now();
    uint64_t events = timeline_.happened();
    while (!judge_.failed() && !until()) {
        if (!timeline_.step()) {
            judge_.fail(std::string("no more events: ") + what);
            break;
        }
        if (judge_.answers != answers) {
            answers = judge_.answers;
            since = timeline_.now();
            events = timeline_.happened();  // a wire of single bytes takes many for each answer
        }
        if (timeline_.now() - since > limit) {
            std::string who;
            for (const auto& client : clients_) {
                if (!client->over() && who.empty()) who = client->describe();
            }
            judge_.fail(std::string("hang: ") + what + ": " + who);
        }
        check_door();
        if (timeline_.happened() - events > events_max) judge_.fail("events without an end");
    }
    return !judge_.failed();
}

bool Boot::clients_over() const {
    return std::ranges::all_of(
        clients_, [&](const auto& client) { return client->over() || hangs_to_the_end(*client); });
}

bool Boot::loiterers_over() const {
    return loiterers_.size() == plan_.door.loiterers &&
           std::all_of(loiterers_.begin(), loiterers_.end(),
                       [](const auto& loiterer) { return loiterer->over(); });
}

// ---- Reload ----

// Removes one export and adds another, in half of the boots with the same name. The clients of the old image are ended,
// and see it until then.
void Boot::reload(std::vector<Image>& contents) {
    const size_t index = random_.below(exports_.size());
    ++reloads_;
    Served& served = exports_[index];
    const std::vector<Client*> clients = served.clients;
    const std::shared_ptr<SimulatedFile> file = served.file;
    const std::string name = served.name;
    // With the old name a client in its handshake could get either image.
    for (Client* client : clients) {
        client->may_be_closed();
        if (keeps_names_ && !client->is_in()) client->close(true);
    }
    contents[index] = Image(served.plan.bytes);
    write_table(served.plan, contents[index]);
    std::vector<nbd::ExportOptions> added;
    added.push_back(make_export(index, contents[index]));
    server_->change({name}, std::move(added));
    const hrtime_t since = timeline_.now();
    const auto all_closed = [&] {
        return std::all_of(clients.begin(), clients.end(), [](const Client* client) {
            return client->is_closed() || client->over();
        });
    };
    if (!step_until(all_closed, stalled_ns_max, "clients of a removed export")) return;
    // A client with TLS may be within its handshake, which has a time of its own.
    if (!plan_.tls && timeline_.now() - since > removed_ns_max) {
        judge_.fail("clients of a removed export were connected for " +
                    std::to_string(timeline_.now() - since) + " ns");
    }
    for (Client* client : clients) client->close(true);
    change_rules();
    for (unsigned i = 0; i < plan_.clients.size(); ++i) {
        const bool comes = plan_.client_export[i] == index && random_.one_in(2);
        if (comes && !plan_.cuts.clients.contains(i)) make_client(i);
    }
}

// A client that was not accepted yet could meet the old rules or the new ones.
void Boot::change_rules() {
    const bool all_in = std::all_of(clients_.begin(), clients_.end(),
                                    [](const auto& client) { return client->was_admitted(); });
    if (!all_in) return;
    rules_ = plan_.door.rules_after_reload;
    server_->set_limits(options_of(rules_));
}

// The partition table stays.
void Boot::truncate_one() {
    Random random(seed_, truncation_stream + 1);
    Served& served = exports_[random.below(exports_.size())];
    if (!served.file || server_->exports() == 0) return;
    const uint64_t first = served.plan.partitions.empty() ? 0 : table_bytes;
    const uint64_t blocks = (served.plan.bytes - first) / sector_bytes;
    const uint64_t length = first + random.below(blocks) * sector_bytes;
    served.file->truncate(length);
    served.cut = true;
    served.oracle->truncated(length, timeline_.now(), served.plan.medium == Medium::direct);
    for (Client* client : served.clients) client->file_was_cut(served.file);
}

// A change that must fail changes nothing: new clients find the old exports.
void Boot::try_failing_reload() {
    if (server_->exports() == 0) return;  // the server has stopped
    const size_t index = random_.below(exports_.size());
    nbd::ExportOptions twice{.name = exports_.back().name,
                             .description = "",
                             .backing = std::make_unique<MemoryBacking>(page_bytes),
                             .instance = std::nullopt,
                             .queue_depth = 1};
    if (exports_.size() == 1) twice.name = std::string(1, '\0');
    std::vector<std::string> removed;
    if (index + 1 < exports_.size()) removed.push_back(exports_[index].name);
    std::vector<nbd::ExportOptions> added;
    added.push_back(std::move(twice));
    try {
        server_->change(removed, std::move(added));
        judge_.fail("a change with one name for two exports succeeded");
    } catch (const std::invalid_argument&) {
    }
}

// ---- Live changes ----

void Boot::plan_changes() {
    if (plan_.changes == 0) return;
    Random random(seed_, change_stream + 1);
    for (unsigned i = 0; i < plan_.changes; ++i) {
        const auto when = static_cast<hrtime_t>(random.between(1, changes_ns));
        executor_.later(when, [this] { change_one(); });
    }
    executor_.later(changes_ns + 1, [this] { end_changes(); });
}

void Boot::change_one() {
    if (server_->exports() == 0) return;  // the server has stopped
    if (changes_over_) return;            // this one was late
    Served& served = exports_[random_.below(exports_.size())];
    changes_.make_one(*server_->find_device(served.name), served.plan.medium != Medium::null);
    note_change(served);
    if (!changes_.closes()) return;
    served.with_liars = served.closes = true;  // some requests have no answer
    for (Client* client : served.clients) client->may_be_closed();
}

void Boot::end_changes() {
    changes_over_ = true;
    if (server_->exports() == 0) return;
    for (Served& served : exports_) {
        changes_.end(*server_->find_device(served.name));
        note_change(served);
    }
}

void Boot::note_change(Served& served) {
    Setting setting = served.settings.back();
    setting.since = timeline_.now();
    changes_.note(setting);
    served.settings.push_back(setting);
}

}  // namespace blkscope::simulation
