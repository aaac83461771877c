#include "kstat/reader/libkstat2/handle.hpp"

#include <cerrno>
#include <utility>

#include "base/run_directory.hpp"
#include "base/throw_errno.hpp"

namespace blkscope::kstat2::reader {

Handle::Handle(Matchers matchers) : matchers_(std::move(matchers)) {
    follow_providers();
    tree_.open(listing());
    is_stale_ = false;
}

void Handle::update() {
    follow_providers();
    if (is_stale_) {
        tree_.update(listing());
        is_stale_ = false;
    } else {
        tree_.renew();
    }
    // Erased only here, and only without kstats: until the update, the tree has maps of these providers.
    // One in a pause is kept: its connection may have been closed because of its list.
    std::erase_if(providers_, [](const auto& named) {
        const Remote& provider = named.second;
        return provider.is_gone() && provider.kstats().empty() && provider.list_time.may_begin();
    });
}

void Handle::follow_providers() {
    const int error = directories_.reopen();
    if (error != 0 && error != ENOENT) throw_errno(run_directory(), error);
    kstat::look_around(directories_, providers_);
    for (auto& [name, provider] : providers_) {
        if (provider.is_gone() || provider.was_replaced()) is_stale_ |= provider.forget();
        provider.forget_replacement();
        if (!provider.is_gone()) provider.ask_for_generation();
    }
    kstat::hear_all(providers_);
    for (auto& [name, provider] : providers_) {
        if (!provider.is_gone()) is_stale_ |= provider.follow(matchers_);
        if (provider.is_gone()) is_stale_ |= provider.forget();  // some end while they are asked
    }
}

// If two providers have one path, the map keeps its present kstat.
Listing Handle::listing() {
    Listing all;
    for (const auto& [name, provider] : providers_) {
        for (const auto& [kid, listed] : provider.kstats()) {
            const bool is_new = all.try_emplace(listed->uri, listed).second;
            if (!is_new && tree_.kstat_at(listed->uri) == listed.get()) all[listed->uri] = listed;
        }
    }
    return all;
}

std::map<std::string, Optional> Handle::optionals() {
    std::map<std::string, Optional> all;
    for (auto& [socket, provider] : providers_) {
        for (Optional& optional : provider.optionals()) all.try_emplace(optional.name, optional);
    }
    return all;
}

int Handle::set_optional(const std::string& name, wire::Switch wanted) {
    int result = ENOENT;
    for (auto& [socket, provider] : providers_) {
        for (const Optional& optional : provider.optionals()) {
            if (optional.name != name) continue;
            const int error = provider.set_optional(optional.id, wanted);
            if (error != 0) return error;
            result = 0;
        }
    }
    return result;
}

}  // namespace blkscope::kstat2::reader
