#include "boot_elsewhere.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "boot.hpp"
#include "driver/nbd/client/upstream_backing.hpp"
#include "simulated_dialer.hpp"

namespace blkscope::simulation {
namespace {

constexpr uint64_t other_stream = 0x6f746865;
constexpr uint64_t dialer_stream = 0x6469616c;
constexpr uint32_t request_bytes_min = 512;
constexpr uint64_t run_ns_max = 500'000;

namespace flag = nbd::transmission_flag;

}  // namespace

void meet_terms(const OtherTerms& terms, bool faulty, ClientPlan& plan) {
    plan.elsewhere = &terms;
    plan.faulty = faulty;
    plan.block_bytes = std::max(request_bytes_min, terms.block_size.minimum);
    plan.punches = plan.zeroes_in_place = true;  // what must be declined, the terms say
    // Each change of a read-only export has the same error, whatever else is wrong with it.
    if (terms.offers(flag::read_only)) plan.wrong_one_in = 0;
}

void meet_terms(const OtherTerms& terms, Invitation& invitation) {
    constexpr uint16_t changing =
        flag::send_fua | flag::send_trim | flag::send_write_zeroes | flag::send_fast_zero;
    uint16_t flags = terms.flags | flag::has_flags | flag::can_multi_conn;
    if (terms.offers(flag::read_only)) flags &= static_cast<uint16_t>(~changing);
    invitation.flags = flags;
    invitation.allocation = terms.allocation;
    invitation.sizes = terms.block_size;
    invitation.sizes.maximum = terms.piece_bytes_max();
}

std::unique_ptr<Backing> Boot::make_other_server(Served& served, const Image& content) {
    const uint64_t number = others_.size();
    Random random(seed_, other_stream + number);
    OtherPlan plan;
    plan.bytes = served.plan.bytes;
    plan.run_ns_max = static_cast<hrtime_t>(random.between(1'000, run_ns_max));
    plan.terms = served.plan.other;
    plan.content.resize(plan.bytes);
    content.read(0, plan.content);
    plan.seed = seed_ + number;
    served.other = std::make_shared<OtherServer>(timeline_, judge_, random, plan);
    others_.push_back(served.other);
    served.other->check_request = [this, other = served.other.get()](const nbd::Request& request,
                                                                     size_t) -> std::string {
        return request.type == nbd::Command::flush || is_asked(*other, request)
                   ? ""
                   : "a request that nobody made";
    };
    auto dialer = std::make_unique<SimulatedDialer>(timeline_, kernel_, *served.other,
                                                    Random(seed_, dialer_stream + number),
                                                    served.plan.connections);
    return std::make_unique<nbd::UpstreamBacking>(
        "elsewhere", std::move(dialer), lost_connection(*served.other), UpstreamOptions{});
}

// A request goes on in a device when its client has ended. The last flush is the device's own.
bool Boot::is_asked(const OtherServer& other, const nbd::Request& request) const {
    return std::ranges::any_of(clients_, [&](const auto& client) {
        return client->plan().elsewhere == &other.terms() &&
               client->has_asked([&](const nbd::Request& asked) {
                   return is_piece_of(other.terms(), request, asked);
               });
    });
}

}  // namespace blkscope::simulation
