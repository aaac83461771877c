#include "kstat/registry/chain.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "kstat/registry/data_lock.hpp"
#include "kstat/registry/defaults.hpp"
#include "kstat/registry/report.hpp"

namespace blkscope::kstat {
namespace {

void set_name(kstat_t& header, const Name& name) {
    std::memcpy(header.ks_module, name.module, sizeof header.ks_module);
    header.ks_instance = name.instance;
    std::memcpy(header.ks_name, name.name, sizeof header.ks_name);
}

void fill_header(kstat_t& header, const Wanted& wanted) {
    header.ks_crtime = now_ns();
    header.ks_snaptime = header.ks_crtime;
    set_name(header, wanted.name);
    std::memcpy(header.ks_class, wanted.klass, sizeof header.ks_class);
    header.ks_type = wanted.type;
    header.ks_flags = wanted.flags | KSTAT_FLAG_INVALID;
    header.ks_ndata = wanted.ndata;
    header.ks_data_size = wanted.ndata * record_size(wanted.type);
    header.ks_update = default_update;
    header.ks_snapshot = default_snapshot;
}

void set_flags(kstat_t& header, uchar_t set, uchar_t clear) {
    header.ks_flags = static_cast<uchar_t>((header.ks_flags | set) & ~clear);
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

bool Entry::is_seen_by(zoneid_t zone) const {
    return std::any_of(zones.begin(), zones.end(), [zone](zoneid_t own) {
        return own == zone || own == ALL_ZONES || zone == ALL_ZONES;
    });
}

void Entry::check_removable() const {
    if (!data_lock_is_held(header.ks_lock)) return;
    panic("kstat_delete('%s', %d, '%s'): the caller holds ks_lock", name.module, name.instance,
          name.name);
}

void Entry::refuse_own_wait() const {
    panic("kstat '%s:%d:%s': its holder (kstat_hold, ks_update, ks_snapshot) waits for it",
          name.module, name.instance, name.name);
}

Chain& Chain::of_this_process() {
    static Chain& chain = *new Chain;
    return chain;
}

kstat_t* Chain::create(const Wanted& wanted, Refusal& why) try {
    if (const auto present = hold(wanted.name, wanted.zone)) {
        const auto lock = table_.lock();
        return reuse(present->entry(), wanted, why);
    }
    const auto lock = table_.lock();
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
    entry->name = wanted.name;
    fill_header(entry->header, wanted);
    entry->zones.push_back(wanted.zone);
    if ((wanted.flags & KSTAT_FLAG_VIRTUAL) == 0 && entry->header.ks_data_size > 0) {
        entry->data.reset(std::calloc(1, entry->header.ks_data_size));
        if (!entry->data) throw std::bad_alloc();
        entry->header.ks_data = entry->data.get();
    }
    const kid_t kid = free_number();
    entry->header.ks_kid = kid;
    return table_.add(std::move(entry), kid).ksp();
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
        const DataLock locked(header.ks_lock);
        header.ks_update(&header, KSTAT_WRITE);
    }
    const auto lock = table_.lock();
    set_flags(header, flags, KSTAT_FLAG_DORMANT | KSTAT_FLAG_INVALID);
    advance_id();
    return true;
}

bool Chain::remove(const kstat_t* ksp) {
    return remove_held(table_.use_for_removal([this, ksp] { return table_.find(ksp); }));
}

bool Chain::remove(const Name& name, zoneid_t zone) {
    return remove_held(table_.use_for_removal([this, &name, zone] { return find(name, zone); }));
}

bool Chain::remove_held(const std::optional<Hold>& held) {
    if (!held) return false;
    Entry& entry = held->entry();
    if ((entry.header.ks_flags & KSTAT_FLAG_PERSISTENT) != 0) {
        make_dormant(entry);
        return true;
    }
    const auto lock = table_.lock();
    if (table_.forget(entry)) advance_id();
    return true;
}

void Chain::make_dormant(Entry& entry) {
    kstat_t& header = entry.header;
    {
        const auto lock = table_.lock();
        entry.shown = std::make_unique<kstat_t>(header);
    }
    {
        const DataLock locked(header.ks_lock);
        header.ks_update(&header, KSTAT_READ);  // the last values
    }
    const auto lock = table_.lock();
    entry.shown.reset();
    forget_provider(header);
    set_flags(header, KSTAT_FLAG_DORMANT, 0);
}

std::optional<Hold> Chain::hold(kid_t kid, zoneid_t zone) {
    return table_.use_found([this, kid, zone] { return find(kid, zone); });
}

std::optional<Hold> Chain::hold(const Name& name, zoneid_t zone) {
    return table_.use_found([this, &name, zone] { return find(name, zone); });
}

bool Chain::zone_add(const kstat_t* ksp, zoneid_t zone) {
    const auto lock = table_.lock();
    Entry* const entry = table_.find(ksp);
    if (entry == nullptr) return false;
    entry->zones.push_back(zone);
    advance_id();
    return true;
}

bool Chain::zone_remove(const kstat_t* ksp, zoneid_t zone) {
    const auto lock = table_.lock();
    Entry* const entry = table_.find(ksp);
    if (entry == nullptr) return false;
    const auto at = std::find(entry->zones.begin(), entry->zones.end(), zone);
    if (at == entry->zones.end()) return false;
    entry->zones.erase(at);
    advance_id();
    return true;
}

bool Chain::zone_sees(const kstat_t* ksp, zoneid_t zone) const {
    const auto lock = table_.lock();
    const Entry* const entry = table_.find(ksp);
    return entry != nullptr && entry->is_seen_by(zone);
}

kid_t Chain::id() const {
    const auto lock = table_.lock();
    return id_;
}

std::vector<kstat_t> Chain::headers(kid_t after, size_t limit) const {
    const auto lock = table_.lock();
    std::vector<kstat_t> headers;
    const auto& by_kid = table_.by_kid();
    for (auto at = by_kid.upper_bound(after); at != by_kid.end(); ++at) {
        if (headers.size() == limit) break;
        const Entry& entry = *at;
        if (!entry.is_seen_by(GLOBAL_ZONEID)) continue;
        const kstat_t& header = entry.shown ? *entry.shown : entry.header;
        const bool is_type = header.ks_type < KSTAT_NUM_TYPES;
        if ((header.ks_flags & KSTAT_FLAG_INVALID) != 0 || !is_type) continue;
        headers.push_back(header);
        set_name(headers.back(), entry.name);
        headers.back().ks_kid = entry.membership.kid;
    }
    return headers;
}

// The id stays positive: readers take 0 for "nothing changed" and -1 for an error.
void Chain::advance_id() {
    id_ = id_ == std::numeric_limits<kid_t>::max() ? 2 : id_ + 1;
}

kid_t Chain::free_number() {
    for (;;) {
        const kid_t kid = id_;
        advance_id();
        if (table_.find(kid) == nullptr) return kid;
    }
}

Entry* Chain::find(kid_t kid, zoneid_t zone) const {
    Entry* const entry = table_.find(kid);
    return entry == nullptr || !entry->is_seen_by(zone) ? nullptr : entry;
}

Entry* Chain::find(const Name& name, zoneid_t zone) const {
    const auto [first, last] = table_.by_key().equal_range(name);
    const auto at =
        std::find_if(first, last, [zone](const Entry& entry) { return entry.is_seen_by(zone); });
    return at == last ? nullptr : &*at;
}

}  // namespace blkscope::kstat
