#include "kstat/registry/chain.hpp"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "kstat/registry/defaults.hpp"
#include "kstat/registry/report.hpp"

namespace blkscope::kstat {

struct Entry {
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };

    kstat_t header{};
    std::unique_ptr<void, Free> data;  // unless the provider brings its own
    std::vector<zoneid_t> zones;
    // The header for listings while a function of the provider is writing the header above.
    std::optional<kstat_t> shown;
    bool held = false;
    std::thread::id holder;

    bool is_seen_by(zoneid_t zone) const {
        return std::any_of(zones.begin(), zones.end(), [zone](zoneid_t own) {
            return own == zone || own == ALL_ZONES || zone == ALL_ZONES;
        });
    }
};

namespace {

kmutex_t* lock_of(const kstat_t& header) {
    return static_cast<kmutex_t*>(header.ks_lock);
}

Name name_of(const kstat_t& header) {
    Name name{};
    std::memcpy(name.module, header.ks_module, sizeof name.module);
    name.instance = header.ks_instance;
    std::memcpy(name.name, header.ks_name, sizeof name.name);
    return name;
}

void fill_header(kstat_t& header, const Wanted& wanted) {
    header.ks_crtime = now_ns();
    header.ks_snaptime = header.ks_crtime;
    std::memcpy(header.ks_module, wanted.name.module, sizeof header.ks_module);
    header.ks_instance = wanted.name.instance;
    std::memcpy(header.ks_name, wanted.name.name, sizeof header.ks_name);
    std::memcpy(header.ks_class, wanted.klass, sizeof header.ks_class);
    header.ks_type = wanted.type;
    header.ks_flags = wanted.flags | KSTAT_FLAG_INVALID;
    header.ks_ndata = wanted.ndata;
    header.ks_data_size = wanted.ndata * record_size(wanted.type);
    header.ks_update = default_update;
    header.ks_snapshot = default_snapshot;
}

// The provider goes away and its values stay. Nothing may point into the provider any more.
void forget_provider(kstat_t& header) {
    header.ks_lock = nullptr;
    header.ks_private = nullptr;
    header.ks_update = default_update;
    header.ks_snapshot = default_snapshot;
}

bool has_string(const kstat_t& header) {
    const kstat_named_t* record = KSTAT_NAMED_PTR(&header);
    for (uint_t i = 0; i < header.ks_ndata; ++i) {
        if (record[i].data_type == KSTAT_DATA_STRING) return true;
    }
    return false;
}

// The rules that kstat_install checks; a broken rule is the provider's bug.
void check_installable(const kstat_t& header, uchar_t flags) {
    if ((flags & KSTAT_FLAG_VAR_SIZE) != 0 && header.ks_lock == nullptr) {
        panic("kstat_install('%s', %d, '%s'): a variable-size kstat needs a ks_lock",
              header.ks_module, header.ks_instance, header.ks_name);
    }
    constexpr uchar_t both = KSTAT_FLAG_LONGSTRINGS | KSTAT_FLAG_WRITABLE;
    if ((flags & both) == both && header.ks_snapshot == default_snapshot) {
        panic("kstat_install('%s', %d, '%s'): a writable kstat with strings needs a ks_snapshot",
              header.ks_module, header.ks_instance, header.ks_name);
    }
}

}  // namespace

bool operator<(const Name& left, const Name& right) {
    if (const int order = std::strcmp(left.module, right.module); order != 0) return order < 0;
    if (left.instance != right.instance) return left.instance < right.instance;
    return std::strcmp(left.name, right.name) < 0;
}

Hold::~Hold() {
    if (entry_ != nullptr) chain_->release(*entry_);
}

kstat_t* Hold::get() const {
    return &entry_->header;
}

kstat_t* Hold::detach() {
    return &std::exchange(entry_, nullptr)->header;
}

DataLock::DataLock(const kstat_t& header) {
    if (header.ks_lock == nullptr || data_lock_is_held(header)) return;
    mutex_ = lock_of(header);
    mutex_enter(mutex_);
}

DataLock::~DataLock() {
    if (mutex_ != nullptr) mutex_exit(mutex_);
}

bool data_lock_is_held(const kstat_t& header) {
    return header.ks_lock != nullptr && mutex_owned(lock_of(header)) != 0;
}

Chain::Chain() = default;
Chain::~Chain() = default;

Chain& Chain::of_this_process() {
    static Chain& chain = *new Chain;
    return chain;
}

kstat_t* Chain::create(const Wanted& wanted, Refusal& why) try {
    if (const auto present = hold(wanted.name, wanted.zone)) {
        const std::lock_guard lock(mutex_);
        return reuse(*present->entry_, wanted, why);
    }
    const std::lock_guard lock(mutex_);
    if (find(wanted.name, wanted.zone) != nullptr) {  // another thread was faster
        why = Refusal::collision;
        return nullptr;
    }
    return add(wanted);
} catch (const std::bad_alloc&) {
    why = Refusal::no_memory;
    return nullptr;
}

kstat_t* Chain::reuse(Entry& entry, const Wanted& wanted, Refusal& why) {
    kstat_t& header = entry.header;
    if ((header.ks_flags & KSTAT_FLAG_DORMANT) == 0) {
        why = Refusal::collision;
        return nullptr;
    }
    if (std::strcmp(header.ks_class, wanted.klass) != 0 || header.ks_type != wanted.type ||
        header.ks_ndata != wanted.ndata || (wanted.flags & KSTAT_FLAG_VIRTUAL) != 0) {
        why = Refusal::not_reusable;
        return nullptr;
    }
    header.ks_flags |= KSTAT_FLAG_INVALID;
    return &header;
}

kstat_t* Chain::add(const Wanted& wanted) {
    auto entry = std::make_unique<Entry>();
    fill_header(entry->header, wanted);
    entry->zones.push_back(wanted.zone);
    if ((wanted.flags & KSTAT_FLAG_VIRTUAL) == 0 && entry->header.ks_data_size > 0) {
        entry->data.reset(std::calloc(1, entry->header.ks_data_size));
        if (!entry->data) throw std::bad_alloc();
        entry->header.ks_data = entry->data.get();
    }
    kstat_t* const header = &entry->header;
    header->ks_kid = free_number();
    by_kid_.emplace(header->ks_kid, entry.get());
    by_name_.emplace(wanted.name, entry.get());
    entries_.emplace(header, std::move(entry));
    return header;
}

bool Chain::install(kstat_t* ksp) {
    const auto held = hold(ksp);
    if (!held) return false;

    kstat_t& header = *ksp;
    uchar_t flags = header.ks_flags;
    if (header.ks_type == KSTAT_TYPE_NAMED && header.ks_data != nullptr && has_string(header)) {
        flags |= KSTAT_FLAG_LONGSTRINGS;
    }
    check_installable(header, flags);
    if ((flags & KSTAT_FLAG_DORMANT) != 0) {
        // The provider is back: its native counters continue from the values kept here.
        const DataLock locked(header);
        header.ks_update(&header, KSTAT_WRITE);
    }
    const std::lock_guard lock(mutex_);
    set_flags(header, flags, KSTAT_FLAG_DORMANT | KSTAT_FLAG_INVALID);
    advance_id();
    return true;
}

bool Chain::remove(const kstat_t* ksp) {
    {
        const std::lock_guard lock(mutex_);
        check_lock_is_free(find(ksp));
    }
    return remove_held(hold(ksp));
}

bool Chain::remove(const Name& name, zoneid_t zone) {
    {
        const std::lock_guard lock(mutex_);
        check_lock_is_free(find(name, zone));
    }
    return remove_held(hold(name, zone));
}

// Checked before the wait for the kstat: the kstat's holder may be waiting for that lock.
void Chain::check_lock_is_free(const Entry* entry) const {
    if (entry == nullptr || !data_lock_is_held(entry->header)) return;
    panic("kstat_delete('%s', %d, '%s'): the caller holds ks_lock", entry->header.ks_module,
          entry->header.ks_instance, entry->header.ks_name);
}

bool Chain::remove_held(std::optional<Hold> held) {
    if (!held) return false;
    if (((*held)->ks_flags & KSTAT_FLAG_PERSISTENT) != 0) {
        make_dormant(*held->entry_);
        return true;
    }
    const std::lock_guard lock(mutex_);
    forget(*held->entry_);
    held->entry_ = nullptr;  // nothing left to release
    return true;
}

void Chain::make_dormant(Entry& entry) {
    kstat_t& header = entry.header;
    {
        const std::lock_guard lock(mutex_);
        entry.shown = header;
    }
    {
        const DataLock locked(header);
        header.ks_update(&header, KSTAT_READ);  // the last values
    }
    const std::lock_guard lock(mutex_);
    entry.shown.reset();
    forget_provider(header);
    set_flags(header, KSTAT_FLAG_DORMANT, 0);
}

template <class Find>
std::optional<Hold> Chain::hold_what(Find find) {
    std::unique_lock lock(mutex_);
    for (;;) {
        // Looked up again after each wait: the previous holder may have deleted the kstat.
        Entry* const entry = find();
        if (entry == nullptr) return std::nullopt;
        if (!entry->held) {
            entry->held = true;
            entry->holder = std::this_thread::get_id();
            return Hold(*this, *entry);
        }
        if (entry->holder == std::this_thread::get_id()) {
            panic("kstat '%s:%d:%s': its holder (kstat_hold, ks_update, ks_snapshot) waits for it",
                  entry->header.ks_module, entry->header.ks_instance, entry->header.ks_name);
        }
        const uint32_t seen = releases_;
        lock.unlock();
        releases_.wait(seen);
        lock.lock();
    }
}

std::optional<Hold> Chain::hold(kid_t kid, zoneid_t zone) {
    return hold_what([this, kid, zone] { return find(kid, zone); });
}

std::optional<Hold> Chain::hold(const kstat_t* ksp) {
    return hold_what([this, ksp] { return find(ksp); });
}

std::optional<Hold> Chain::hold(const Name& name, zoneid_t zone) {
    return hold_what([this, &name, zone] { return find(name, zone); });
}

bool Chain::zone_add(const kstat_t* ksp, zoneid_t zone) {
    const std::lock_guard lock(mutex_);
    Entry* const entry = find(ksp);
    if (entry == nullptr) return false;
    entry->zones.push_back(zone);
    advance_id();
    return true;
}

bool Chain::zone_remove(const kstat_t* ksp, zoneid_t zone) {
    const std::lock_guard lock(mutex_);
    Entry* const entry = find(ksp);
    if (entry == nullptr) return false;
    const auto at = std::find(entry->zones.begin(), entry->zones.end(), zone);
    if (at == entry->zones.end()) return false;
    entry->zones.erase(at);
    advance_id();
    return true;
}

bool Chain::zone_sees(const kstat_t* ksp, zoneid_t zone) const {
    const std::lock_guard lock(mutex_);
    const Entry* const entry = find(ksp);
    return entry != nullptr && entry->is_seen_by(zone);
}

kid_t Chain::id() const {
    const std::lock_guard lock(mutex_);
    return id_;
}

std::vector<kstat_t> Chain::headers(kid_t after, size_t limit) const {
    const std::lock_guard lock(mutex_);
    std::vector<kstat_t> headers;
    for (auto at = by_kid_.upper_bound(after); at != by_kid_.end(); ++at) {
        if (headers.size() == limit) break;
        const Entry& entry = *at->second;
        if (!entry.is_seen_by(GLOBAL_ZONEID)) continue;
        const kstat_t& header = entry.shown ? *entry.shown : entry.header;
        if ((header.ks_flags & KSTAT_FLAG_INVALID) == 0) headers.push_back(header);
    }
    return headers;
}

void Chain::release(Entry& entry) {
    const std::lock_guard lock(mutex_);
    release_locked(entry);
}

void Chain::release_locked(Entry& entry) {
    entry.held = false;
    entry.holder = {};
    wake_waiters();
}

bool Chain::release(const kstat_t* ksp) {
    const std::lock_guard lock(mutex_);
    Entry* const entry = find(ksp);
    if (entry == nullptr || !entry->held || entry->holder != std::this_thread::get_id()) {
        return false;
    }
    release_locked(*entry);
    return true;
}

void Chain::forget(Entry& entry) {
    // A kstat inherited over fork() is in no index, and another kstat may have its number by now.
    const auto by_kid = by_kid_.find(entry.header.ks_kid);
    if (by_kid != by_kid_.end() && by_kid->second == &entry) {
        by_kid_.erase(by_kid);
        const auto [first, last] = by_name_.equal_range(name_of(entry.header));
        by_name_.erase(std::find_if(
            first, last, [&entry](const auto& named) { return named.second == &entry; }));
        advance_id();
    }
    entries_.erase(&entry.header);
    wake_waiters();
}

void Chain::wake_waiters() {
    ++releases_;
    releases_.notify_all();
}

// The id stays positive: readers take 0 for "nothing changed" and -1 for an error.
void Chain::advance_id() {
    id_ = id_ == std::numeric_limits<kid_t>::max() ? 2 : id_ + 1;
}

kid_t Chain::free_number() {
    for (;;) {
        const kid_t kid = id_;
        advance_id();
        if (!by_kid_.contains(kid)) return kid;
    }
}

void Chain::set_flags(kstat_t& header, uchar_t set, uchar_t clear) {
    header.ks_flags = static_cast<uchar_t>((header.ks_flags | set) & ~clear);
}

Entry* Chain::find(kid_t kid, zoneid_t zone) const {
    const auto at = by_kid_.find(kid);
    return at == by_kid_.end() || !at->second->is_seen_by(zone) ? nullptr : at->second;
}

Entry* Chain::find(const kstat_t* ksp) const {
    const auto at = entries_.find(ksp);
    return at == entries_.end() ? nullptr : at->second.get();
}

Entry* Chain::find(const Name& name, zoneid_t zone) const {
    const auto [first, last] = by_name_.equal_range(name);
    const auto at = std::find_if(
        first, last, [zone](const auto& named) { return named.second->is_seen_by(zone); });
    return at == last ? nullptr : at->second;
}

void Chain::before_fork() {
    mutex_.lock();
}

void Chain::after_fork_in_parent() {
    mutex_.unlock();
}

void Chain::after_fork_in_child() {
    by_kid_.clear();
    by_name_.clear();
    for (auto& [pointer, entry] : entries_) entry->held = false;
    mutex_.unlock();
}

}  // namespace blkscope::kstat
