// Disks that hang in a boot. The other exports keep their bounds meanwhile.
//
//     hang ─▶ clients of the export wait ─▶ it goes on ─▶ they are answered
//       └──── to the end: the server stops ─▶ it closes them after some seconds
//                                           ─▶ the disk goes on ─▶ the last flush ─▶ nothing is left

#include <algorithm>
#include <iterator>

#include "boot.hpp"
#include "driver/nbd/transmission/session_limits.hpp"

namespace blkscope::simulation {
namespace {

constexpr uint64_t hang_stream = 0x68616e67;
constexpr uint64_t begin_ns_max = 4'000'000;
constexpr uint64_t going_on_ns_max = 50'000;
// The server counts in its own seconds, and a client may look late.
constexpr hrtime_t closed_ns_max = (hrtime_t{nbd::close_seconds_max} + 2) * 1'000'000'000;

}  // namespace

void Boot::plan_hang() {
    if (!plan_.hang) return;
    Random random(seed_, hang_stream);
    timeline_.after(static_cast<hrtime_t>(random.between(1, begin_ns_max)),
                    [this] { begin_hang(); });
}

void Boot::begin_hang() {
    const HangPlan& plan = *plan_.hang;
    const Served& served = exports_[plan.exp];
    if (!served.file || server_->exports() == 0 || (ends_ && plan.to_the_end)) return;
    hung_file_ = served.file;
    hung_clients_.assign(served.clients.begin(), served.clients.end());
    hung_file_->hang(plan.one_in);
    if (!plan.to_the_end) timeline_.after(plan.ns, [this] { let_go(); });
}

void Boot::let_go() {
    Random random(seed_, hang_stream + 1);
    went_on_at_ = timeline_.now();
    for (auto& rest : hung_file_->let_go()) {
        timeline_.after(static_cast<hrtime_t>(random.between(1, going_on_ns_max)), std::move(rest));
    }
}

bool Boot::hangs_to_the_end(const Client& client) const {
    return plan_.hang && plan_.hang->to_the_end && hung_file_ != nullptr &&
           std::ranges::find(hung_clients_, &client) != hung_clients_.end();
}

// Those who read their answers, and the other exports. `since` is when the server's end began.
void Boot::check_closed_in_time(hrtime_t since) {
    timeline_.after(since + closed_ns_max - timeline_.now(), [this] {
        for (const auto& client : clients_) {
            if (!hangs_to_the_end(*client) || !client->honest() || client->is_closed()) continue;
            judge_.fail("a client is still connected though the server ends, whose disk hangs: " +
                        client->describe());
        }
        for (const Served& served : exports_) {
            if (served.file == hung_file_ || !served.file) continue;
            if (kernel_.has_open(*served.file)) {
                judge_.fail("the end of an export waits for another one, whose disk hangs");
            }
        }
    });
}

}  // namespace blkscope::simulation
