#include "kstat/reader/libkstat/handle.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>

#include "base/run_directory.hpp"
#include "base/throw_errno.hpp"
#include "kstat/reader/libkstat/reserved.hpp"

namespace blkscope::kstat {
namespace {

// A kstat that is being reactivated becomes readable at any moment. If its provider never installs
// it again, the kstat never becomes readable.
constexpr int attempts_max = 6;
constexpr auto between_attempts = std::chrono::milliseconds(100);

// A kstat of the reader's own takes the same way as a provider's reply.
int accept_computed(kstat_t& ksp, const host::Data& data, void* buffer, Room& room) {
    wire::DataHead head{};
    head.snaptime = data.snaptime;
    head.data_size = data.bytes.size();
    head.ndata = data.ndata;
    head.type = ksp.ks_type;
    head.flags = ksp.ks_flags;
    std::vector<std::byte> body(sizeof head + data.bytes.size());
    std::memcpy(body.data(), &head, sizeof head);
    std::copy(data.bytes.begin(), data.bytes.end(),
              body.begin() + static_cast<ptrdiff_t>(sizeof head));
    return accept_data(ksp, body, buffer, room);
}

}  // namespace

// kc_kd stays the same until the handle is closed. Only directories_ follows new or replaced
// run directories.
Handle::Handle() : kstat_ctl_t{0, nullptr, -1} {
    const std::string path = run_directory();
    kc_kd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (kc_kd < 0 && errno == ENOENT) kc_kd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (kc_kd < 0) throw_errno(path);
    for (const kstat_t& own : {headers_kstat(), types_kstat()}) add(nullptr, own);
}

Handle::~Handle() {
    for (const auto& [kid, node] : nodes_) std::free(node->header.ks_data);
    if (kc_kd >= 0) close(kc_kd);
}

// The chain's links follow the nodes on every return: an exception may come after some nodes were
// freed.
bool Handle::update() try {
    const int error = directories_.reopen();  // a missing directory is treated as an empty one
    shortage_ = look_around(directories_, providers_);
    if (error == EMFILE || error == ENFILE) shortage_ = error;
    changed_ |= drop_gone();
    changed_ |= merge(nullptr, host_.kids, host_.list());
    for (auto& [name, provider] : providers_) {
        if (provider.is_to_list()) provider.ask_for_list();
    }
    hear_all(providers_);
    for (auto& [name, provider] : providers_) {
        if (provider.is_to_list()) {
            changed_ |= merge(provider);
        } else if (provider.has_news()) {
            provider.leave_out(no_list);
        }
    }
    // A read may have told of a change that is undone by now. Its number holds all the same: a program that
    // updates until the numbers are equal would go on for ever.
    changed_ |= std::exchange(moved_on_, false);
    if (!changed_ && kc_chain_id != 0) return false;
    link();
    kc_chain_id = next_chain_id();
    changed_ = false;
    return true;
} catch (...) {
    changed_ = true;
    link();
    throw;
}

bool Handle::drop_gone() {
    bool changed = false;
    for (auto at = providers_.begin(); at != providers_.end();) {
        ListedProvider& provider = at->second;
        if (provider.is_gone() || provider.was_replaced()) changed |= forget_kstats_of(provider);
        provider.forget_replacement();
        at = provider.is_gone() ? providers_.erase(at) : std::next(at);
    }
    return changed;
}

bool Handle::forget_kstats_of(ListedProvider& provider) {
    for (const auto& [there, here] : provider.kids) remove(here);
    const bool changed = !provider.kids.empty();
    provider.kids.clear();
    return changed;
}

bool Handle::merge(ListedProvider& provider) {
    const auto headers = provider.list();
    return headers && merge(&provider, provider.kids, *headers);
}

// Both lists ascend, and a number is never used twice: a number in both is the same kstat.
bool Handle::merge(ListedProvider* provider, std::map<kid_t, kid_t>& kids,
                   const std::vector<kstat_t>& headers) {
    bool changed = false;
    auto known = kids.begin();
    const auto drop_until = [&](kid_t kid) {
        while (known != kids.end() && known->first < kid) {
            remove(known->second);
            known = kids.erase(known);
            changed = true;
        }
    };
    for (const kstat_t& header : headers) {
        drop_until(header.ks_kid);
        if (known != kids.end() && known->first == header.ks_kid) {
            ++known;
            continue;
        }
        kids.emplace(header.ks_kid, add(provider, header));
        changed = true;
    }
    drop_until(std::numeric_limits<kid_t>::max());
    return changed;
}

kid_t Handle::add(ListedProvider* provider, const kstat_t& header) {
    if (next_kid_ == std::numeric_limits<kid_t>::max()) throw std::bad_alloc();
    auto node = std::make_unique<Node>(Node{header, provider, header.ks_kid});
    const kid_t kid = next_kid_++;
    node->header.ks_kid = kid;
    node->header.ks_private = nullptr;
    if (provider != nullptr) {
        // Equal names of different providers are told apart by this number.
        // NOLINTNEXTLINE(performance-no-int-to-ptr): the field is a pointer
        node->header.ks_private = reinterpret_cast<void*>(static_cast<intptr_t>(provider->pid()));
    }
    nodes_.emplace(kid, std::move(node));
    return kid;
}

void Handle::remove(kid_t kid) {
    const auto at = nodes_.find(kid);
    std::free(at->second->header.ks_data);
    nodes_.erase(at);
}

void Handle::link() {
    kstat_t** next = &kc_chain;
    for (const auto& [kid, node] : nodes_) {
        *next = &node->header;
        next = &node->header.ks_next;
    }
    *next = nullptr;
}

// The id stays positive: 0 means "nothing changed" and -1 is an error.
kid_t Handle::next_chain_id() const {
    return kc_chain_id == std::numeric_limits<kid_t>::max() ? 1 : kc_chain_id + 1;
}

kid_t Handle::newest_chain_id() {
    const auto is_listed = [this](const std::string& path) { return providers_.contains(path); };
    moved_on_ = moved_on_ || directories_.has_news(is_listed);
    return moved_on_ ? next_chain_id() : kc_chain_id;
}

// After an exchange.
void Handle::note_news(const ListedProvider& provider) {
    moved_on_ |= provider.is_to_list() || provider.is_gone() || provider.was_replaced();
}

int Handle::read(kstat_t& ksp, void* buffer) {
    // Found by number, not by address: callers also read through copies of a header.
    const auto at = nodes_.find(ksp.ks_kid);
    if (at == nodes_.end()) return ENXIO;
    Node& node = *at->second;
    kstat_t& header = node.header;
    if (&ksp == &header) return read(node, header, buffer, node.room);
    if (ksp.ks_data == nullptr || ksp.ks_data != header.ks_data) {
        Room unknown;  // the copy's memory is the caller's
        return read(node, ksp, buffer, unknown);
    }
    // The copy has the chain's memory, which may move. So the chain is read, and the copy follows.
    const int error = read(node, header, buffer, node.room);
    take_over_data(ksp, header);
    return error;
}

int Handle::read(const Node& node, kstat_t& ksp, void* buffer, Room& room) {
    if (ksp.ks_kid < first_free_kid) return read_own(ksp, buffer, room);
    if (node.provider == nullptr) return read_host(node, ksp, buffer, room);
    for (int attempt = 1;; ++attempt) {
        const int error = read_once(node, ksp, buffer, room);
        bool& keeps_waiting = node.provider->keeps_waiting;
        if (error != EAGAIN || attempt == attempts_max || keeps_waiting) {
            keeps_waiting = error == EAGAIN;
            return error;
        }
        std::this_thread::sleep_for(between_attempts);
    }
}

// A provider that has not yet sent what its list says is believed an eighth of it.
int Handle::read_once(const Node& node, kstat_t& ksp, void* buffer, Room& room) {
    wire::DataHead wanted{};
    wanted.kid = node.kid_there;
    const size_t size = node.header.ks_data_size / (node.header.ks_data != nullptr ? 1 : 8);
    auto reply = node.provider->exchange(wire::Op::read, wire::bytes_of(wanted), {}, size);
    note_news(*node.provider);
    if (!reply) return ENXIO;
    if (reply->head.error != 0) {
        accept_head(ksp, reply->body);
        return reply->head.error;
    }
    return accept_data(ksp, reply->body, buffer, room);
}

int Handle::read_own(kstat_t& ksp, void* buffer, Room& room) {
    const auto data = ksp.ks_kid == headers_kid ? headers_data(kc_chain) : types_data();
    return accept_computed(ksp, data, buffer, room);
}

int Handle::read_host(const Node& node, kstat_t& ksp, void* buffer, Room& room) {
    const auto data = host_.read(node.kid_there);
    return data ? accept_computed(ksp, *data, buffer, room) : ENXIO;
}

int Handle::write(kstat_t& ksp, const void* buffer) {
    const auto at = nodes_.find(ksp.ks_kid);
    if (at == nodes_.end()) return ENXIO;
    const Node& node = *at->second;
    // Solaris asks for the privilege before all else.
    if (node.provider == nullptr) return geteuid() == 0 ? EACCES : EPERM;
    if (!node.provider->may_be_written()) return EPERM;
    auto request = prepare_write(ksp, buffer);
    if (!request) return request.error().value();
    request->head.kid = node.kid_there;
    for (int attempt = 1;; ++attempt) {
        const auto reply =
            node.provider->exchange(wire::Op::write, wire::bytes_of(request->head), request->data);
        note_news(*node.provider);
        if (!reply) return ENXIO;
        if (reply->head.error != EAGAIN || attempt == attempts_max) return reply->head.error;
        std::this_thread::sleep_for(between_attempts);
    }
}

}  // namespace blkscope::kstat
