#include "tools/kstat/raw.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <span>

#include "kstat/host/cpu_stat_fields.hpp"
#include "tools/kstat/blob.hpp"

namespace blkscope::kstat_command {
namespace {

enum class Kind { i32, u32, u64, bintime, text };

// Consecutive fields of one type, by name. A space follows each name but may be missing at the end.
// '-' is a field that is not shown. A text field has room for `text_bytes`.
struct Fields {
    Kind kind;
    std::string_view names;
    size_t text_bytes = 0;
};

// A list of cpu_stat_fields.hpp as names.
#define COUNTED(field, counter) #field " "
#define ZERO(field) #field " "
#define NAMES(list) list(COUNTED, ZERO)
#define NOT_SHOWN(field) "- "

constexpr std::array cpu_stat{
    Fields{Kind::u32, "- -"},  // the room of a lock
    Fields{Kind::u32, NAMES(CPU_STAT_TICKS)},
    Fields{Kind::u32, NAMES(CPU_STAT_WORK)},
    Fields{Kind::u32, NAMES(CPU_STAT_OVERFLOWS)},
    Fields{Kind::u32, NAMES(CPU_STAT_INTERRUPTS)},
    Fields{Kind::u32, NAMES(CPU_STAT_THREADS)},
    Fields{Kind::u32, CPU_STAT_WINDOWS(COUNTED, NOT_SHOWN)},
    Fields{Kind::i32, NAMES(CPU_STAT_WAITS)},
    Fields{Kind::u32, NAMES(CPU_STAT_PAGING)},
};
constexpr std::array var{
    Fields{Kind::i32,
           "v_buf v_call v_proc v_maxupttl v_nglobpris v_maxsyspri v_clist v_maxup v_hbuf v_hmask "
           "v_pbuf v_sptmap v_maxpmem v_autoup v_bufhwm"},
};
constexpr std::array ncstats{
    Fields{Kind::i32, "hits misses enters dbl_enters long_enter long_look move_to_front purges"},
};
constexpr std::array sysinfo{
    Fields{Kind::u32, "updates runque runocc swpque swpocc waiting"},
};
constexpr std::array vminfo{
    Fields{Kind::u64, "freemem swap_resv swap_alloc swap_avail swap_free updates"},
};
constexpr std::array mntinfo{
    Fields{Kind::text, "mik_proto", 128},
    Fields{Kind::u32, "mik_vers mik_flags mik_secmod mik_curread mik_curwrite"},
    Fields{Kind::i32, "mik_timeo mik_retrans"},
    Fields{Kind::u32,
           "mik_acregmin mik_acregmax mik_acdirmin mik_acdirmax "
           "lookup_srtt lookup_deviate lookup_rtxcur read_srtt read_deviate read_rtxcur "
           "write_srtt write_deviate write_rtxcur - - - mik_noresponse mik_failover mik_remap"},
    Fields{Kind::text, "mik_curserver", 257},
};

// A record of libdevstat: its version and size, and the struct devstat; see <sys/devicestat.h>.
constexpr std::array devstat{
    Fields{Kind::u32, "version - sequence0 - start_count end_count"},
    Fields{Kind::bintime, "busy_from"},
    Fields{Kind::u64, "-"},
    Fields{Kind::u32, "device_number"},
    Fields{Kind::text, "device_name", 16},
    Fields{Kind::i32, "unit_number"},
    Fields{Kind::u64,
           "bytes_other bytes_read bytes_write bytes_free "
           "operations_other operations_read operations_write operations_free"},
    Fields{Kind::bintime,
           "duration_other duration_read duration_write duration_free busy_time creation_time"},
    Fields{Kind::u32, "block_size -"},
    Fields{Kind::u64, "tags_simple tags_head tags_ordered"},
    Fields{Kind::u32, "flags device_type priority -"},
    Fields{Kind::u64, "id"},
    Fields{Kind::u32, "sequence1"},
};

// An entry without a name is the structure of all kstats of its module.
struct Structure {
    std::string_view module;
    std::string_view name;
    std::span<const Fields> fields;
};

constexpr std::array structures{
    Structure{"cpu_stat", "cpu_stat", cpu_stat}, Structure{"unix", "var", var},
    Structure{"unix", "ncstats", ncstats},       Structure{"unix", "sysinfo", sysinfo},
    Structure{"unix", "vminfo", vminfo},         Structure{"nfs", "mntinfo", mntinfo},
    Structure{"devstat", {}, devstat},
};

std::string without_digits(const char* field) {
    std::string text = bounded_text(field, KSTAT_STRLEN);
    std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
    return text;
}

const Structure* structure_of(const kstat_t& ksp) {
    const std::string module = without_digits(ksp.ks_module);
    const std::string name = without_digits(ksp.ks_name);
    const auto* const found = std::ranges::find_if(structures, [&](const Structure& s) {
        return s.module == module && (s.name.empty() || s.name == name);
    });
    return found == structures.end() ? nullptr : found;
}

std::string_view take_name(std::string_view& names) {
    const size_t end = std::min(names.find(' '), names.size());
    const std::string_view name = names.substr(0, end);
    names.remove_prefix(std::min(end + 1, names.size()));
    return name;
}

size_t bytes_of(const Fields& fields) {
    switch (fields.kind) {
        case Kind::i32:
        case Kind::u32:
            return 4;
        case Kind::u64:
            return 8;
        case Kind::bintime:
            return 16;
        case Kind::text:
            return fields.text_bytes;
    }
    return 0;
}

template <class Integer>
Integer load(const char* from) {
    Integer value;
    std::memcpy(&value, from, sizeof(value));  // a RAW section need not be aligned
    return value;
}

// Seconds, followed by units of 2^-64 s, rounded to the nearest nanosecond. A provider may have any
// number of seconds. The nearest moment that an hrtime_t has stands for the others.
Moment bintime(const char* from) {
    constexpr uint64_t ns_per_s = 1'000'000'000;
    constexpr uint64_t half = uint64_t{1} << 31;
    constexpr int64_t seconds_max = std::numeric_limits<hrtime_t>::max() / hrtime_t{ns_per_s} - 1;
    const int64_t seconds = std::clamp(load<int64_t>(from), -seconds_max, seconds_max);
    const uint64_t high = load<uint64_t>(from + 8) >> 32;
    return {seconds * hrtime_t{ns_per_s} + static_cast<hrtime_t>((high * ns_per_s + half) >> 32)};
}

Value value_of(const Fields& fields, const char* from) {
    switch (fields.kind) {
        case Kind::i32:
            return int64_t{load<int32_t>(from)};
        case Kind::u32:
            return uint64_t{load<uint32_t>(from)};
        case Kind::u64:
            return load<uint64_t>(from);
        case Kind::bintime:
            return bintime(from);
        case Kind::text:
            break;
    }
    return Text(bounded_text(from, fields.text_bytes));
}

}  // namespace

bool is_known_raw(const kstat_t& ksp) {
    return is_blob(ksp) || structure_of(ksp) != nullptr;
}

std::vector<Statistic> decode_raw(const kstat_t& ksp) {
    if (is_blob(ksp)) return decode_blob(ksp);
    const Structure* const structure = structure_of(ksp);
    if (structure == nullptr || ksp.ks_data == nullptr) return {};
    std::vector<Statistic> statistics;
    const auto* const data = static_cast<const char*>(ksp.ks_data);
    size_t at = 0;
    for (const Fields& fields : structure->fields) {
        for (std::string_view names = fields.names; !names.empty(); at += bytes_of(fields)) {
            if (at + bytes_of(fields) > ksp.ks_data_size) return {};
            const std::string_view name = take_name(names);
            if (name == "-") continue;
            statistics.push_back({std::string(name), value_of(fields, data + at)});
        }
    }
    return statistics;
}

}  // namespace blkscope::kstat_command
