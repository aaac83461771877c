#include "kstat/registry/maps.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "kstat/registry/report.hpp"
#include "kstat/wire/kstat2.hpp"

namespace blkscope::kstat2 {
namespace {

bool is_pair_of(const std::vector<Field>& fields, std::string_view name) {
    if (name == "crtime" || name == "snaptime") return true;
    return std::ranges::find(fields, name, &Field::name) != fields.end();
}

std::string_view first_segment(std::string_view rest) {
    return rest.substr(0, rest.find('/'));
}

void set_zones(Entry& entry, const Wanted& wanted) {
    entry.zones.assign({wanted.zone});
    if ((wanted.flags & KSTAT2_FLAG_GZ_VIS) != 0) entry.zones.push_back(GLOBAL_ZONEID);
}

// Sets the pairs of a template or a histogram; the provider names the pairs of all others.
void init_pairs(Entry& entry) {
    const std::vector<Field>& fields = entry.info->fields;
    assert(fields.empty() || fields.size() == entry.pairs().size());
    for (size_t i = 0; i < fields.size(); ++i) {
        kstat2_nv_init(&entry.pairs()[i], fields[i].name.c_str(), fields[i].type, KSTAT2_NVF_NONE);
    }
}

// Called after the pairs are named: "buckets", "type", "range_min", "range_max", "stepping".
void attach_histogram(Entry& entry, const WantedHistogram& wanted, Commons& commons) {
    const Buckets& shape = wanted.shape;
    const auto pairs = entry.pairs();
    entry.histogram =
        std::make_unique<Histogram>(commons.shapes.share(shape), wanted.own, pairs[0]);
    const bool ranged = shape.is_ranged();
    pairs[1].value.integer = shape.type();
    pairs[2].value.integer = ranged ? shape.range_min() : 0;
    pairs[3].value.integer = ranged ? shape.range_max() : 0;
    pairs[4].value.integer = ranged ? shape.stepping() : 0;
    entry.map.ks2_reserved = entry.histogram.get();
}

void fill_header(kstat2_t& map, const Wanted& wanted) {
    map.ks2_crtime = map.ks2_snaptime = now_ns();
    map.ks2_type = KSTAT_TYPE_NAMED;
    map.ks2_flags = wanted.flags | KSTAT2_FLAG_INVALID;
    if (wanted.data != nullptr) map.ks2_flags |= KSTAT2_FLAG_VIRTUAL;
    map.ks2_metatype = wanted.metatype;
    std::memcpy(map.ks2_path, wanted.path.c_str(), wanted.path.size() + 1);
    map.ks2_ndata = wanted.ndata;
    map.ks2_data_size = wanted.ndata * sizeof(kstat2_named_t);
}

void fill(Entry& entry, const Wanted& wanted, Commons& commons) {
    fill_header(entry.map, wanted);
    if (wanted.data == nullptr) entry.storage = std::make_unique<kstat2_named_t[]>(wanted.ndata);
    entry.map.ks2_data = wanted.data != nullptr ? wanted.data : entry.storage.get();
    entry.crtime = entry.map.ks2_crtime;
    entry.path = wanted.path;
    entry.md = wanted.md;
    entry.describe(commons.descriptions.share(
        {wanted.desc, wanted.metatype, wanted.metaflags, wanted.fields}));
    set_zones(entry, wanted);
    init_pairs(entry);
    if (wanted.histogram) attach_histogram(entry, *wanted.histogram, commons);
}

// Compares a dormant kstat with the arguments that would wake it; returns a reason if they do not
// fit. Pairs that are named later are compared at the install.
std::string difference(const Entry& entry, const Wanted& wanted) {
    if (entry.info->metatype != wanted.metatype) return "another metatype";
    if (entry.map.ks2_ndata != wanted.ndata) return "another number of pairs";
    if (wanted.data != nullptr) return "storage of the provider's";
    if (!wanted.histogram) return {};
    if (!SameShape()(entry.histogram->shape(), wanted.histogram->shape)) return "another shape";
    const Metadata& own = entry.info->fields[0].md;
    const Metadata& other = wanted.fields[0].md;
    if (own.type != other.type || own.scale != other.scale || own.flags != other.flags) {
        return "another content_type, scale or md_flags";
    }
    return wanted.histogram->own.empty() ? std::string() : "buckets of the provider's";
}

void ignore_lock(Entry& entry) {
    constexpr const char* what =
        "kstat2_install('%s'): ks2_lock of a histogram is not the provider's";
#ifdef KSTAT2_STRICT
    kstat::panic(what, entry.map.ks2_path);
#else
    kstat::warn(what, entry.map.ks2_path);
    entry.map.ks2_lock = nullptr;
#endif
}

bool same_names_and_types(const std::vector<Field>& one, const std::vector<Field>& other) {
    return std::ranges::equal(one, other, [](const Field& left, const Field& right) {
        return left.name == right.name && left.type == right.type;
    });
}

}  // namespace

Maps& Maps::of_this_process() {
    static Maps& maps = *new Maps;
    return maps;
}

kstat2_t* Maps::create(const Wanted& wanted, std::string& why) try {
    if (const auto present = table_.use_found([&] { return find(wanted.path); })) {
        const auto lock = table_.lock();
        return wake(present->entry(), wanted, why);
    }
    const auto lock = table_.lock();
    if (find(wanted.path) != nullptr) {  // another thread was faster
        why = "namespace collision";
        return nullptr;
    }
    why = clash(wanted.path, wanted.fields);
    return why.empty() ? add(wanted, why) : nullptr;
} catch (const std::bad_alloc&) {
    why = "insufficient memory";
    return nullptr;
}

kstat2_t* Maps::wake(Entry& entry, const Wanted& wanted, std::string& why) {
    if (!entry.has(KSTAT2_FLAG_DORMANT)) {
        why = "namespace collision";
        return nullptr;
    }
    if (const std::string what = difference(entry, wanted); !what.empty()) {
        why = "invalid reactivation of dormant kstat: " + what;
        return nullptr;
    }
    Description woken = *entry.info;
    woken.desc = wanted.desc;
    woken.metaflags = wanted.metaflags;
    entry.describe(commons_.descriptions.share(std::move(woken)));
    entry.md = wanted.md;
    set_zones(entry, wanted);
    entry.map.ks2_flags |= KSTAT2_FLAG_INVALID;
    if (entry.histogram) entry.histogram->resume();
    return &entry.map;
}

kstat2_t* Maps::add(const Wanted& wanted, std::string& why) {
    if (last_kid_ == std::numeric_limits<kid_t>::max()) {
        why = "no number left";
        return nullptr;
    }
    auto entry = std::make_unique<Entry>();
    fill(*entry, wanted, commons_);
    entry->map.ks2_kid = ++last_kid_;
    return table_.add(std::move(entry), last_kid_).ksp();
}

// Finds one name with two meanings in a map: a pair, and a kstat below.
std::string Maps::clash(std::string_view path, const std::vector<Field>& fields) const {
    for (size_t slash = path.find('/', 1); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
        const Entry* const above = find(path.substr(0, slash));
        const auto segment = first_segment(path.substr(slash + 1));
        if (above != nullptr && is_pair_of(above->info->fields, segment)) {
            return "'" + std::string(segment) + "' is a pair of " + above->path;
        }
    }
    const std::string inside = std::string(path) + "/";
    const auto& by_path = table_.by_key();
    for (auto at = by_path.lower_bound(std::string_view(inside));
         at != by_path.end() && at->path.starts_with(inside); ++at) {
        const auto segment = first_segment(at->key().substr(inside.size()));
        if (is_pair_of(fields, segment)) return "its pair is the path of " + at->path;
    }
    return {};
}

// Turns the pairs of a kstat in use into the description for readers.
bool Maps::describe(Entry& entry, std::string& why) {
    if (entry.has(KSTAT2_FLAG_DORMANT)) restore_kept(entry);
    Map described = entry.shown();
    described.fields.clear();
    why = describe_pairs(entry, described.fields);
    if (!why.empty()) return false;
    // At a second install, or with a template, the names are fixed.
    const std::vector<Field>& before = entry.info->fields;
    if (!before.empty() && !same_names_and_types(before, described.fields)) {
        why = "its pairs are not those that it had";
        return false;
    }
    if (wire::encoded_size(described) > wire::map_size_max) {
        why = "its names and descriptions take more than 1 MiB";
        return false;
    }
    const auto lock = table_.lock();
    why = clash(entry.path, described.fields);
    if (!why.empty()) return false;
    entry.describe(commons_.descriptions.share({std::move(described.desc), described.metatype,
                                                described.metaflags, std::move(described.fields)}));
    // The fields hold it now. An assignment of {} would keep the memory.
    std::vector<Metadata>().swap(entry.md);
    return true;
}

bool Maps::install(kstat2_t* ksp, std::string& why) try {
    const auto used = table_.use(ksp);
    if (!used) {
        why = no_such_kstat;
        return false;
    }
    Entry& entry = used->entry();
    if (!entry.has(KSTAT2_FLAG_INVALID)) {
        why = "it is installed already";
        return false;
    }
    if (entry.histogram && ksp->ks2_lock != nullptr) ignore_lock(entry);
    if (!describe(entry, why)) return false;
    const auto lock = table_.lock();
    ksp->ks2_flags &= ~static_cast<uint32_t>(KSTAT2_FLAG_INVALID | KSTAT2_FLAG_DORMANT);
    ++entry.revision;
    return true;
} catch (const std::bad_alloc&) {
    why = "insufficient memory";
    return false;
}

bool Maps::remove(const kstat2_t* ksp) {
    return remove_used(table_.use_for_removal([this, ksp] { return table_.find(ksp); }));
}

bool Maps::remove(kid_t kid, zoneid_t zone) {
    return remove_used(table_.use_for_removal([this, kid, zone] {
        Entry* const entry = table_.find(kid);
        return entry != nullptr && entry->is_on_list_of(zone) ? entry : nullptr;
    }));
}

bool Maps::remove_used(const std::optional<Use>& used) {
    if (!used) return false;
    Entry& entry = used->entry();
    if (entry.histogram) entry.histogram->stop();
    // A kstat that was never installed has no values that a reader saw.
    if (entry.has(KSTAT2_FLAG_PERSISTENT) && entry.revision > 0) {
        make_dormant(entry);
        return true;
    }
    const auto lock = table_.lock();
    table_.forget(entry);
    return true;
}

void Maps::make_dormant(Entry& entry) {
    kstat2_t& map = entry.map;
    // A kstat that was woken and never installed keeps its old values. A histogram also counts
    // before its install.
    if (!entry.has(KSTAT2_FLAG_DORMANT) || entry.histogram) keep_values(entry);
    const auto lock = table_.lock();
    map.ks2_update = nullptr;
    map.ks2_private = nullptr;
    map.ks2_lock = nullptr;
    map.ks2_flags |= KSTAT2_FLAG_DORMANT;
    map.ks2_flags &= ~static_cast<uint32_t>(KSTAT2_FLAG_INVALID);
    ++entry.revision;
}

kstat2_t* Maps::hold(kid_t kid) {
    const auto lock = table_.lock();
    Entry* const entry = table_.find(kid);
    if (entry == nullptr) return nullptr;
    ++entry->membership.holds;
    return &entry->map;
}

bool Maps::release(const kstat2_t* ksp) {
    const auto lock = table_.lock();
    return table_.release(ksp);
}

bool Maps::zone_add(const kstat2_t* ksp, zoneid_t zone) {
    const auto lock = table_.lock();
    Entry* const entry = table_.find(ksp);
    if (entry == nullptr) return false;
    if (std::find(entry->zones.begin(), entry->zones.end(), zone) == entry->zones.end()) {
        entry->zones.push_back(zone);
    }
    return true;
}

bool Maps::zone_remove(const kstat2_t* ksp, zoneid_t zone) {
    const auto lock = table_.lock();
    Entry* const entry = table_.find(ksp);
    if (entry == nullptr) return false;
    const auto end = std::remove(entry->zones.begin(), entry->zones.end(), zone);
    const bool was_listed = end != entry->zones.end();
    entry->zones.erase(end, entry->zones.end());
    return was_listed;
}

uint64_t Maps::generation(const Viewer& viewer) const {
    const auto lock = table_.lock();
    return generation_locked(viewer);
}

// A hash of the kstats that the viewer sees, not a count of changes: hidden changes must not show.
uint64_t Maps::generation_locked(const Viewer& viewer) const {
    uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, a word at a time
    for (const Entry& entry : table_.by_kid()) {
        if (!entry.is_seen_by(viewer)) continue;
        hash = (hash ^ static_cast<uint64_t>(entry.membership.kid)) * 0x100000001b3;
        hash = (hash ^ entry.revision) * 0x100000001b3;
    }
    return hash;
}

Maps::Page Maps::list(const Viewer& viewer, kid_t after, size_t size) const {
    const auto lock = table_.lock();
    Page page;
    page.generation = generation_locked(viewer);
    const auto& by_kid = table_.by_kid();
    for (auto at = by_kid.upper_bound(after); at != by_kid.end(); ++at) {
        const Entry& entry = *at;
        if (!entry.is_seen_by(viewer)) continue;
        if (size == 0) {
            page.more = true;
            break;
        }
        page.maps.push_back(entry.shown());
        size -= std::min(size, wire::encoded_size(page.maps.back()));
    }
    return page;
}

Reading Maps::read(const Viewer& viewer, kid_t kid) try {
    const auto used = table_.use_found([&] {
        Entry* const entry = table_.find(kid);
        return entry != nullptr && entry->is_seen_by(viewer) ? entry : nullptr;
    });
    if (!used) return {ENXIO, {}};
    Entry& entry = used->entry();
    if (entry.has(KSTAT2_FLAG_DORMANT)) {
        assert(entry.kept != nullptr);
        Values values = entry.kept->values;
        values.snaptime = entry.map.ks2_snaptime = now_ns();
        return {0, std::move(values)};
    }
    Reading reading;
    if (!take_values(entry, reading.values)) return {EFBIG, {}};
    return reading;
} catch (const std::bad_alloc&) {
    return {ENOMEM, {}};
}

Entry* Maps::find(std::string_view path) const {
    const auto at = table_.by_key().find(path);
    return at == table_.by_key().end() ? nullptr : &*at;
}

}  // namespace blkscope::kstat2
