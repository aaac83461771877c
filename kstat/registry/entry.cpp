#include "kstat/registry/entry.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>
#include <set>
#include <utility>

#include "base/clock.hpp"
#include "base/seqlock.hpp"
#include "kstat/registry/data_lock.hpp"
#include "kstat/registry/queues.hpp"
#include "kstat/registry/report.hpp"
#include "kstat/wire/kstat2.hpp"

namespace blkscope::kstat2 {
namespace {

std::string text_of(const kstat2_named_str_t& string) {
    if (string.ptr == nullptr) return {};
    return {string.ptr, strnlen(string.ptr, string.len)};
}

Value empty_value(uint8_t type) {
    switch (type) {
        case KSTAT2_NVVT_INTS:
            return {KSTAT2_NVF_NONE, std::vector<uint64_t>()};
        case KSTAT2_NVVT_STR:
            return {KSTAT2_NVF_NONE, std::string()};
        case KSTAT2_NVVT_STRS:
            return {KSTAT2_NVF_NONE, std::vector<std::string>()};
        default:
            return {KSTAT2_NVF_NONE, uint64_t{0}};
    }
}

// Copies pairs until they are more than a reply may hold.
// A provider may be changing the fields. Without ks2_lock there is no order between pairs, but each
// number is whole.
class Copy {
  public:
    bool add(const kstat2_named_t& pair, uint8_t type, Value& value) {
        value = empty_value(type);
        value.flags = observe(pair.flags);
        if (pair.type == type) return add_data(pair, value);
        value.flags |= KSTAT2_NVF_INVAL;  // the provider broke the rule of fixed types
        return true;
    }

  private:
    bool add_data(const kstat2_named_t& pair, Value& value) {
        switch (pair.type) {
            case KSTAT2_NVVT_INTS:
                return add_integers(pair, std::get<std::vector<uint64_t>>(value.data));
            case KSTAT2_NVVT_STR:
                value.data = text_of(pair.value.string);
                return charge(std::get<std::string>(value.data).size());
            case KSTAT2_NVVT_STRS:
                return add_texts(pair, std::get<std::vector<std::string>>(value.data));
            default:
                value.data = observe(pair.value.integer);
                return true;
        }
    }

    bool add_integers(const kstat2_named_t& pair, std::vector<uint64_t>& integers) {
        const uint64_t* const array = pair.value.integers.array;
        const uint32_t length = array == nullptr ? 0 : observe(pair.value.integers.length);
        if (!charge(size_t{length} * sizeof(uint64_t))) return false;
        integers.resize(length);
        for (uint32_t i = 0; i < length; ++i) {
            // Threads count into the array during the read: each bucket is a number of its own.
            integers[i] =
                std::atomic_ref(const_cast<uint64_t&>(array[i])).load(std::memory_order_relaxed);
        }
        return true;
    }

    bool add_texts(const kstat2_named_t& pair, std::vector<std::string>& texts) {
        const kstat2_named_str_t* const array = pair.value.strings.array;
        const uint32_t length = array == nullptr ? 0 : pair.value.strings.length;
        if (length > wire::strings_max) return false;
        for (uint32_t i = 0; i < length; ++i) {
            texts.push_back(text_of(array[i]));
            if (!charge(texts.back().size() + sizeof(uint32_t))) return false;
        }
        return true;
    }

    bool charge(size_t size) {
        size_ += size;
        return size_ <= wire::values_size_max;
    }

    size_t size_ = 0;
};

bool copy_values(const Entry& entry, Values& values) {
    Copy copy;
    const auto pairs = entry.pairs();
    values.values.resize(pairs.size());
    for (size_t i = 0; i < pairs.size(); ++i) {
        if (!copy.add(pairs[i], entry.info->fields[i].type, values.values[i])) return false;
    }
    return true;
}

// The pairs of a queue's times are next to each other: wtime, wlentime, wlastupdate.
void charge_queue(Values& values, size_t first, size_t length, hrtime_t now) {
    const auto number = [&values](size_t at) -> uint64_t& {
        return std::get<uint64_t>(values.values[at].data);
    };
    const kstat::detail::Queue<uint64_t, uint64_t> queue{number(length), number(first),
                                                         number(first + 1), number(first + 2)};
    kstat::detail::charge_until(queue, now);
}

void point_at(kstat2_named_t& pair, Value& kept, std::vector<kstat2_named_str_t>& texts) {
    if (auto* const integers = std::get_if<std::vector<uint64_t>>(&kept.data)) {
        kstat2_nv_setints(&pair, integers->data(), static_cast<uint32_t>(integers->size()));
    } else if (auto* const text = std::get_if<std::string>(&kept.data)) {
        kstat2_nv_setstr(&pair, text->c_str());
    } else if (auto* const strings = std::get_if<std::vector<std::string>>(&kept.data)) {
        texts.clear();
        for (std::string& string : *strings) {
            texts.push_back({string.data(), static_cast<uint32_t>(string.size() + 1)});
        }
        kstat2_nv_setstrs(&pair, texts.data(), static_cast<uint32_t>(texts.size()));
    }
}

// The C structure's names are not constant, but no code writes to them.
char* name_of(const Field& field) {
    return const_cast<char*>(field.name.c_str());
}

bool is_null(const kstat2_named_t& pair) {
    switch (pair.type) {
        case KSTAT2_NVVT_INTS:
            return pair.value.integers.array == nullptr;
        case KSTAT2_NVVT_STR:
            return pair.value.string.ptr == nullptr;
        case KSTAT2_NVVT_STRS:
            return pair.value.strings.array == nullptr;
        default:
            return false;
    }
}

}  // namespace

Map Entry::shown() const {
    Map shown;
    shown.kid = membership.kid;
    shown.crtime = crtime;
    shown.path = path;
    shown.desc = info->desc;
    shown.metatype = info->metatype;
    shown.metaflags = info->metaflags;
    shown.flags = has(KSTAT2_FLAG_DORMANT) ? KSTAT2_MAPF_DORM : KSTAT2_MAPF_NONE;
    shown.fields = info->fields;
    return shown;
}

void Entry::describe(SharedDescription other) {
    assert(other != nullptr);
    if (info != nullptr && !info->fields.empty()) {
        assert(other->fields.size() == info->fields.size());
        const size_t named = std::min(info->fields.size(), pairs().size());
        for (size_t i = 0; i < named; ++i) {
            char*& name = pairs()[i].name.ptr;
            if (name == name_of(info->fields[i])) name = name_of(other->fields[i]);
        }
    }
    info = std::move(other);
}

bool Entry::is_on_list_of(zoneid_t zone) const {
    return std::any_of(zones.begin(), zones.end(),
                       [zone](zoneid_t own) { return own == zone || own == ALL_ZONES; });
}

bool Entry::is_seen_by(const Viewer& viewer) const {
    if (has(KSTAT2_FLAG_INVALID)) return false;
    if ((info->metaflags & KSTAT2_MF_PRIV) != 0 && !viewer.sees_private) return false;
    return is_on_list_of(viewer.zone);
}

void Entry::check_removable() const {
    if (!kstat::data_lock_is_held(map.ks2_lock)) return;
    kstat::panic("kstat2_delete('%s'): the caller holds ks2_lock", path.c_str());
}

void Entry::refuse_own_wait() const {
    kstat::panic("kstat2 '%s': its ks2_update waits for itself", path.c_str());
}

std::string describe_pairs(const Entry& entry, std::vector<Field>& fields) {
    std::set<std::string> names{"crtime", "snaptime"};  // in every reader's map
    for (const kstat2_named_t& pair : entry.pairs()) {
        Field field{text_of(pair.name), pair.type, entry.md[fields.size()]};
        const std::string which = "pair " + std::to_string(fields.size());
        if (field.name.empty()) return which + " has no name";
        if (field.name.size() > wire::text_size_max) return which + " has too long a name";
        if (pair.type < KSTAT2_NVVT_INT || pair.type > KSTAT2_NVVT_STRS) {
            return which + " ('" + field.name + "') has no value type";
        }
        if (!names.insert(field.name).second) return "there is another '" + field.name + "'";
        fields.push_back(std::move(field));
    }
    return {};
}

bool take_values(Entry& entry, Values& values) {
    kstat2_t& map = entry.map;
    {
        const kstat::DataLock locked(map.ks2_lock);
        map.ks2_snaptime = 0;
        values.error = map.ks2_update == nullptr ? 0 : map.ks2_update(&map, KSTAT_READ);
        // An update that copies from elsewhere sets the moment of its copy.
        values.snaptime = map.ks2_snaptime != 0 ? map.ks2_snaptime : now_ns();
        if (!copy_values(entry, values)) return false;
    }
    map.ks2_snaptime = values.snaptime;
    values.kid = entry.membership.kid;
    values.flags = KSTAT2_MAPF_NONE;
    if (values.error == 0) {
        charge_queues(entry.info->metatype, values, values.snaptime);
    } else {
        for (Value& value : values.values) value.flags |= KSTAT2_NVF_INVAL;
    }
    return true;
}

void keep_values(Entry& entry) {
    Values last;
    if (!take_values(entry, last)) {
        last.values.clear();
        for (const Field& field : entry.info->fields) {
            last.values.push_back(empty_value(field.type));
            last.values.back().flags = KSTAT2_NVF_INVAL;
        }
    }
    last.error = 0;
    last.flags = KSTAT2_MAPF_DORM;
    // Only here: pairs may have pointed at the values of an earlier keep_values().
    if (!entry.kept) entry.kept = std::make_unique<Entry::Kept>();
    Values& kept = entry.kept->values;
    kept = std::move(last);
    if (entry.histogram) return;
    auto& texts = entry.kept->texts;
    texts.resize(kept.values.size());
    for (size_t i = 0; i < kept.values.size(); ++i) {
        kstat2_named_t& pair = entry.pairs()[i];
        pair.name.ptr = name_of(entry.info->fields[i]);
        point_at(pair, kept.values[i], texts[i]);
    }
}

void restore_kept(Entry& entry) {
    if (entry.histogram) return;
    assert(entry.kept != nullptr);
    Values& kept = entry.kept->values;
    assert(kept.values.size() <= entry.pairs().size());
    for (size_t i = 0; i < kept.values.size(); ++i) {
        kstat2_named_t& pair = entry.pairs()[i];
        if (pair.type != entry.info->fields[i].type || !is_null(pair)) continue;
        point_at(pair, kept.values[i], entry.kept->texts[i]);
    }
}

void charge_queues(uint16_t metatype, Values& values, hrtime_t now) {
    if (metatype != KSTAT2_MT_IO && metatype != KSTAT2_MT_QUEUE) return;
    // The two queues are the last eight pairs of both templates.
    const size_t first = values.values.size() - 8;
    charge_queue(values, first, first + 6, now);
    charge_queue(values, first + 3, first + 7, now);
}

}  // namespace blkscope::kstat2
