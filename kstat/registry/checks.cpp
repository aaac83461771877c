#include "kstat/registry/checks.hpp"

#include <cstring>

#include "base/utf8.hpp"
#include "kstat/wire/kstat2.hpp"

namespace blkscope::kstat2 {
namespace {

bool fail(std::string& why, std::string reason) {
    why = std::move(reason);
    return false;
}

// The reason why a text cannot be a segment; null if it can.
const char* fault_of_segment(std::string_view segment) {
    if (segment.empty()) return "a segment is empty";
    for (const char c : segment) {
        if (std::strchr("/;:", c) != nullptr) return "a segment has one of '/', ';' and ':'";
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7F) return "a segment has a control byte";
    }
    return is_utf8(segment) ? nullptr : "a segment is not UTF-8";
}

bool check_md(const kstat2_md_t& md, std::string& why) {
    constexpr unsigned known = KSTAT2_NVMF_FRACT | KSTAT2_NVMF_LIMIT;
    if (md.type > KSTAT2_NVMT_JOULE) return fail(why, "unknown metadata type");
    if ((md.flags & ~known) != 0) return fail(why, "unknown metadata flags");
    if (md.scale == 0) return fail(why, "scale is 0");
    if (md.descr != nullptr && strnlen(md.descr, wire::text_size_max + 1) > wire::text_size_max) {
        return fail(why, "a value's description is too long");
    }
    return true;
}

Metadata metadata_of(const kstat2_md_t& md) {
    return {md.type, md.flags, md.scale, md.v1_data_type, md.descr == nullptr ? "" : md.descr};
}

bool is_zone(zoneid_t zone) {
    return zone >= ALL_ZONES && zone <= zone_max;
}

bool check_flags(const Common& common, std::string& why) {
    constexpr unsigned known_flags = KSTAT2_FLAG_PERSISTENT | KSTAT2_FLAG_GZ_VIS;
    constexpr unsigned known_metaflags = KSTAT2_MF_STABLE | KSTAT2_MF_PRIV;
    if ((common.flags & ~known_flags) != 0) return fail(why, "unknown flags");
    if ((common.metaflags & ~known_metaflags) != 0) return fail(why, "unknown meta-flags");
    return true;
}

bool check_desc(const char* desc, std::string& why) {
    if (desc == nullptr) return fail(why, "desc is NULL");
    return strnlen(desc, wire::text_size_max + 1) <= wire::text_size_max ||
           fail(why, "desc is too long");
}

bool check_array(const HistogramArguments& arguments, uint32_t flags, std::string& why) {
    const Buckets& shape = arguments.shape;
    if (arguments.buckets == nullptr) {
        return arguments.num_buckets == 0 || fail(why, "num_buckets without buckets");
    }
    if (arguments.num_buckets == 0) return fail(why, "buckets without num_buckets");
    if ((flags & KSTAT2_FLAG_PERSISTENT) != 0) {
        return fail(why, "a persistent kstat cannot have storage of the provider's");
    }
    if (shape.is_bounded() && arguments.num_buckets < shape.count()) {
        return fail(why, "num_buckets is " + std::to_string(arguments.num_buckets) +
                             ", and the shape has " + std::to_string(shape.count()));
    }
    return true;
}

// The metadata of "buckets" describes the value axis; the counts themselves have no unit. The
// bounds of a linear histogram lie on that axis; those of decades are exponents.
std::vector<Field> histogram_fields(const HistogramArguments& arguments) {
    const bool on_axis = arguments.shape.type() == KSTAT2_NVHIST_LINEAR;
    Metadata axis = metadata_of(arguments.content);
    const auto described = [](Metadata md, const char* descr) {
        md.descr = descr;
        return md;
    };
    const Metadata plain;
    Metadata bound = on_axis ? axis : plain;
    bound.flags |= KSTAT2_NVMF_LIMIT;
    Metadata id;
    id.type = KSTAT2_NVMT_ID;
    return {
        {"buckets", KSTAT2_NVVT_INTS, described(axis, "occurrences of a value, by bucket")},
        {"type", KSTAT2_NVVT_INT, described(id, "how values are put into buckets")},
        {"range_min", KSTAT2_NVVT_INT, described(bound, "where the first bucket ends")},
        {"range_max", KSTAT2_NVVT_INT, described(bound, "where the last bucket begins")},
        {"stepping", KSTAT2_NVVT_INT, described(bound, "a step, or the steps of a decade")},
    };
}

}  // namespace

std::string path_of(const char** segments, uint32_t nsegments, std::string& why) {
    if (segments == nullptr || nsegments < segments_min) {
        why = "a path has three segments or more";
        return {};
    }
    std::string path;
    for (uint32_t i = 0; i < nsegments; ++i) {
        if (segments[i] == nullptr) {
            why = "a segment is NULL";
            return {};
        }
        // A text of KSTAT2_PATHLEN bytes is too long already; the bytes behind them do not matter.
        const std::string_view segment(segments[i], strnlen(segments[i], KSTAT2_PATHLEN));
        if (const char* const fault = fault_of_segment(segment)) {
            why = fault;
            return {};
        }
        path.append("/").append(segment);
        if (path.size() >= KSTAT2_PATHLEN) {
            why = "the path is longer than 255 bytes";
            return {};
        }
    }
    return path;
}

std::optional<Wanted> check_common(const Common& common, std::string& why) {
    Wanted wanted;
    wanted.path = path_of(common.segments, common.nsegments, why);
    if (wanted.path.empty() || !check_flags(common, why) || !check_desc(common.desc, why)) {
        return std::nullopt;
    }
    if (!is_zone(common.zone)) {
        why = "there is no zone " + std::to_string(common.zone);
        return std::nullopt;
    }
    wanted.zone = common.zone;
    wanted.flags = common.flags;
    wanted.metaflags = common.metaflags;
    wanted.desc = common.desc;
    return wanted;
}

bool check_pairs(Wanted& wanted, kstat2_named_t* data, uint_t ndata, const kstat2_md_t* md,
                 std::string& why) {
    if (ndata == 0 || ndata > wire::fields_max) {
        return fail(why, "ndata is " + std::to_string(ndata) + "; it is from 1 to " +
                             std::to_string(wire::fields_max));
    }
    if (data != nullptr && (wanted.flags & KSTAT2_FLAG_PERSISTENT) != 0) {
        return fail(why, "a persistent kstat cannot have storage of the provider's");
    }
    wanted.data = data;
    wanted.ndata = ndata;
    wanted.md.resize(ndata);
    for (uint_t i = 0; md != nullptr && i < ndata; ++i) {
        if (!check_md(md[i], why)) return false;
        wanted.md[i] = metadata_of(md[i]);
    }
    return true;
}

bool check_histogram(Wanted& wanted, const HistogramArguments& arguments, std::string& why) {
    if (const char* const fault = arguments.shape.why_invalid()) return fail(why, fault);
    if (!check_md(arguments.content, why) || !check_array(arguments, wanted.flags, why)) {
        return false;
    }
    wanted.metatype = KSTAT2_MT_HIST;
    wanted.fields = histogram_fields(arguments);
    wanted.ndata = static_cast<uint_t>(wanted.fields.size());
    for (const Field& field : wanted.fields) wanted.md.push_back(field.md);
    wanted.histogram = WantedHistogram{arguments.shape, {arguments.buckets, arguments.num_buckets}};
    return true;
}

}  // namespace blkscope::kstat2
