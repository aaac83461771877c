#include "driver/nbd/server/workers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <exception>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "blockdev/ring/planted.hpp"
#include "driver/nbd/server/export.hpp"
#include "driver/nbd/transmission/worker.hpp"

namespace blkscope::nbd {

namespace {

// The time, after a moment in which the workers go on.
WorkerSource::Time wait_a_moment(const WorkerSource& source) {
    constexpr std::chrono::milliseconds pause{1};
    if (source.go_on) return source.go_on();
    std::this_thread::sleep_for(pause);
    return std::chrono::steady_clock::now();
}

bool answers_in_time(const std::future<bool>& answer, WorkerSource::Time deadline,
                     const WorkerSource& source) {
    if (!source.go_on) return answer.wait_until(deadline) == std::future_status::ready;
    while (answer.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
        if (source.go_on() >= deadline) return false;
    }
    return true;
}

// The order to a worker to close all connections to some exports.
class CutOrder {
  public:
    CutOrder(Worker& worker, const std::vector<uint64_t>& export_serials)
        : idle_(worker.ask([taken = taken_, export_serials](Sessions& sessions) {
              bool none = true;
              if (taken->exchange(true)) return none;
              for (const uint64_t serial : export_serials) {
                  none = sessions.cut_clients(serial) && none;
              }
              return none;
          })) {}

    Cut result(WorkerSource::Time deadline, const WorkerSource& source) {
        if (answers_in_time(idle_, deadline, source)) {
            return idle_.get() ? Cut::none : Cut::requests;
        }
        return taken_->exchange(true) ? Cut::requests : Cut::stuck;
    }

  private:
    // After the deadline the worker may still obey, so it owns all that it uses. A worker that begins
    // later does nothing, because it would close new clients.
    std::shared_ptr<std::atomic<bool>> taken_ = std::make_shared<std::atomic<bool>>(false);
    std::future<bool> idle_;
};

}  // namespace

Workers::Workers(const Options& options, WorkerSource source, Calls calls)
    : options_(options), source_(std::move(source)), calls_(std::move(calls)) {
    assert(calls_.connection_ended != nullptr);
    assert(calls_.log != nullptr);
}

Workers::~Workers() = default;

Worker& Workers::make() {
    auto worker = source_.make ? source_.make(options_.busy_wait)
                               : std::make_unique<Worker>(options_.busy_wait, linux_kernel(),
                                                          options_.recorder_records);
    assert(worker != nullptr);
    assert(worker->exports() == 0);
    assert(worker->connections() == 0);
    worker->when_connection_ended(calls_.connection_ended);
    if (started_) start(*worker);
    return *workers_.emplace_back(std::move(worker));
}

void Workers::start(Worker& worker) {
    assert(started_);
    if (source_.start) return source_.start(worker);
    worker.start();
}

void Workers::start() {
    assert(!started_);
    started_ = true;
    for (const auto& worker : workers_) start(*worker);
}

// Each export gets a new worker up to the limit, then the worker with the fewest exports.
Worker& Workers::for_export() {
    const auto fewest = std::ranges::min_element(workers_, {}, &Worker::exports);
    const bool idle = fewest != workers_.end() && (*fewest)->exports() == 0;
    if (idle || (fewest != workers_.end() && workers_.size() >= options_.count_max)) {
        return **fewest;
    }
    return make();
}

// Returns the export's worker, unless another has fewer clients. If all workers have clients, makes
// a new worker up to the limit. So two clients of one disk use two processors.
Worker& Workers::for_client(const Export& exp) {
    assert(started_);
    assert(!workers_.empty());
    if (exp.worker.connections() == 0 || !exp.device.backing().shareable()) return exp.worker;
    const auto fewest = std::ranges::min_element(workers_, {}, &Worker::connections);
    assert(fewest != workers_.end());
    if ((*fewest)->connections() > 0 && workers_.size() < options_.count_max) {
        try {
            return make();
        } catch (const std::exception& error) {
            calls_.log(fmt::format("cannot make a worker for a client, which shares one: {}",
                                   error.what()));
        }
    }
    return (*fewest)->connections() < exp.worker.connections() ? **fewest : exp.worker;
}

std::unique_ptr<Export> Workers::make_export(ExportOptions options) {
    assert(options.backing != nullptr);
    return for_export().make_export(std::move(options));
}

void Workers::close_export(std::unique_ptr<Export> exp) {
    assert(exp != nullptr);
    assert(!workers_.empty());
    Worker& owner = exp->worker;
    exp->device.retire();
    for (const auto& worker : workers_) {
        if (worker.get() != &owner) worker->close_clients(exp->serial);
    }
    owner.close_export(std::move(exp));
}

// All workers are asked before one is waited for, so that each has the whole time. Later they are asked only
// what is left: their connections are closed.
Cut Workers::cut_clients(const std::vector<uint64_t>& export_serials,
                         std::chrono::milliseconds limit) {
    const auto deadline =
        (source_.go_on ? source_.go_on() : std::chrono::steady_clock::now()) + limit;
    for (bool all_closed = false;; all_closed = true) {
        std::vector<CutOrder> orders;
        for (const auto& worker : workers_) orders.emplace_back(*worker, export_serials);
        auto worst = Cut::none;
        for (CutOrder& order : orders) worst = std::max(worst, order.result(deadline, source_));
        if (worst == Cut::stuck && all_closed && !planted("worker-blamed")) return Cut::requests;
        if (worst != Cut::requests || wait_a_moment(source_) >= deadline) return worst;
    }
}

// Each worker has its share, so that a busy one leaves room for the others.
Recorded Workers::recorded(uint32_t device, const std::vector<uint64_t>& from,
                           size_t records_max) const {
    Recorded all;
    const size_t share = records_max / std::max<size_t>(workers_.size(), 1);
    assert(share > 0);
    for (size_t i = 0; i < workers_.size(); ++i) {
        const size_t before = all.requests.size();
        const uint64_t begin = i < from.size() ? from[i] : 0;  // a worker that was made since
        const Recorder::Read read =
            workers_[i]->recorder().read(begin, share, device, all.requests);
        for (size_t at = before; at < all.requests.size(); ++at) {
            all.requests[at].worker = static_cast<uint16_t>(i);
        }
        all.next.push_back(read.next);
        all.lost += read.lost;
    }
    return all;
}

std::vector<uint64_t> Workers::recorder_heads() const {
    std::vector<uint64_t> heads;
    for (const auto& worker : workers_) heads.push_back(worker->recorder().head());
    return heads;
}

UnderWay Workers::under_way(uint64_t export_serial,
                            std::chrono::steady_clock::time_point deadline) {
    using Answer = std::future<std::vector<trace::Request>>;
    std::vector<Answer> answers;
    for (const auto& worker : workers_) {
        answers.push_back(worker->ask(
            [export_serial](Sessions& sessions) { return sessions.under_way(export_serial); }));
    }
    UnderWay all;
    for (size_t i = 0; i < answers.size(); ++i) {
        if (answers[i].wait_until(deadline) != std::future_status::ready) {
            ++all.silent_workers;
            continue;
        }
        for (trace::Request& request : answers[i].get()) {
            request.worker = static_cast<uint16_t>(i);
            all.requests.push_back(request);
        }
    }
    return all;
}

size_t Workers::connections() const {
    size_t count = 0;
    for (const auto& worker : workers_) count += worker->connections();
    return count;
}

size_t Workers::to_come() const {
    return options_.count_max - std::min<size_t>(options_.count_max, workers_.size());
}

void Workers::close_socket(int socket) {
    assert(!workers_.empty());  // the export of the socket had one
    assert(socket >= 0);
    workers_.front()->ring().kernel().close(socket);
}

bool Workers::stop(std::optional<std::chrono::steady_clock::time_point> deadline) {
    for (const auto& worker : workers_) worker->stop();
    return std::ranges::all_of(workers_,
                               [&](const auto& worker) { return worker->join(deadline); });
}

bool Workers::all_flushed() const {
    return std::ranges::all_of(workers_, &Worker::all_flushed);
}

}  // namespace blkscope::nbd
