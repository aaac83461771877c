#include "kstat/registry/optionals.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "kstat/registry/report.hpp"
#include "kstat/wire/kstat2.hpp"

namespace blkscope::kstat2 {
namespace {

// "module:what", both of printable ASCII.
bool is_name(std::string_view name) {
    const size_t colon = name.find(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == name.size()) return false;
    if (name.find(':', colon + 1) != std::string_view::npos) return false;
    return std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

Optionals& Optionals::of_this_process() {
    static Optionals& optionals = *new Optionals;
    return optionals;
}

std::string Optionals::fault_of(const char* name, const char* desc,
                                kstat2_opt_cb_t callback) const {
    if (name == nullptr || desc == nullptr || callback == nullptr) return "an argument is NULL";
    if (strnlen(name, KSTAT2_OPT_NAMELEN) >= KSTAT2_OPT_NAMELEN) {
        return "the name is longer than 30 bytes";
    }
    if (!is_name(name)) return "the name is not \"module:what\"";
    if (strnlen(desc, wire::text_size_max + 1) > wire::text_size_max) return "desc is too long";
    if (offers_.size() == wire::optionals_max) return "there are 1024 already";
    const bool is_taken = std::any_of(offers_.begin(), offers_.end(), [name](const auto& offer) {
        return offer.second.what.name == name;
    });
    return is_taken ? "the name is taken" : "";
}

kstat2_opt_id_t Optionals::add(const char* name, const char* desc, kstat2_opt_cb_t callback,
                               void* arg, std::string& why) {
    const std::lock_guard lock(mutex_);
    why = fault_of(name, desc, callback);
    if (!why.empty()) return KSTAT2_OPT_INVALID;
    const kstat2_opt_id_t id = ++last_id_;
    offers_.emplace(id, Offer{{id, name, desc, false, false}, callback, arg});
    return id;
}

void Optionals::set_default(kstat2_opt_id_t id, bool on) {
    const std::lock_guard lock(mutex_);
    const auto at = offers_.find(id);
    if (at != offers_.end()) at->second.what.is_on_by_default = on;
}

bool Optionals::remove(kstat2_opt_id_t id) {
    std::unique_lock lock(mutex_);
    if (callback_.is_mine()) {
        kstat::panic(
            "kstat2_unregister_optional(%d): called from a callback, it would wait for itself", id);
    }
    wait_for_callback(lock);
    return offers_.erase(id) > 0;
}

std::vector<Optional> Optionals::list() const {
    const std::lock_guard lock(mutex_);
    std::vector<Optional> list;
    for (const auto& [id, offer] : offers_) list.push_back(offer.what);
    return list;
}

int Optionals::set(kstat2_opt_id_t id, bool on) {
    std::unique_lock lock(mutex_);
    if (callback_.is_mine()) return EDEADLK;
    wait_for_callback(lock);
    const auto at = offers_.find(id);
    if (at == offers_.end()) return ENOENT;
    Offer& offer = at->second;
    if (offer.what.is_on == on) return 0;
    callback_.take();
    lock.unlock();
    // The offer stays: remove() waits for the callback.
    const int error = offer.callback(id, on ? 1 : 0, offer.arg);
    lock.lock();
    // In a child that the callback has forked, there are no offers.
    if (error == 0 && offers_.contains(id)) offer.what.is_on = on;
    callback_.end();
    ends_.announce();
    return error < 0 ? EIO : error;
}

int Optionals::set_as_by_default(kstat2_opt_id_t id) {
    std::unique_lock lock(mutex_);
    const auto at = offers_.find(id);
    if (at == offers_.end()) return ENOENT;
    const bool on = at->second.what.is_on_by_default;
    lock.unlock();
    return set(id, on);
}

void Optionals::wait_for_callback(std::unique_lock<std::mutex>& lock) {
    while (callback_.is_taken()) ends_.wait(lock);
}

void Optionals::after_fork_in_child() {
    offers_.clear();
    callback_.end();
    mutex_.unlock();
}

}  // namespace blkscope::kstat2
