// The provider's functions of <sys/kstat2.h>, except kstat2_install, which publishes
// (kstat/provider).
#include <sys/kstat2.h>

#include <new>

#include "kstat/registry/checks.hpp"
#include "kstat/registry/optionals.hpp"
#include "kstat/registry/report.hpp"
#include "kstat/registry/templates.hpp"

namespace {

using namespace blkscope::kstat2;
using blkscope::kstat::warn;

// The kstat's name for standard error, even if the name is not valid.
std::string name_of(const Common& common) {
    std::string ignored;
    const std::string path = path_of(common.segments, common.nsegments, ignored);
    return path.empty() ? "" : "'" + path + "'";
}

// Each step returns false with a reason on failure, and the last one creates the kstat.
template <class Complete>
kstat2_t* create(const char* function, const Common& common, Complete complete) try {
    std::string why;
    auto wanted = check_common(common, why);
    kstat2_t* ksp = nullptr;
    if (wanted && complete(*wanted, why)) ksp = Maps::of_this_process().create(*wanted, why);
    if (ksp == nullptr) warn("%s(%s): %s", function, name_of(common).c_str(), why.c_str());
    return ksp;
} catch (const std::bad_alloc&) {
    warn("%s: insufficient memory", function);
    return nullptr;
}

// A number outside of the enum stays outside when it becomes 16 bits.
uint16_t narrowed(kstat2_nv_metatype_t type) {
    const auto number = static_cast<uint32_t>(type);
    return number > KSTAT2_NVMT_JOULE ? UINT16_MAX : static_cast<uint16_t>(number);
}

}  // namespace

extern "C" {

// NOLINTBEGIN(readability-function-size): the number of their parameters is the manual's
kstat2_t* kstat2_create(const char* pseg[], uint32_t npseg, zoneid_t zone, kstat2_named_t* data,
                        uint_t ndata, uint32_t flags, const kstat2_md_t* md, const char* desc,
                        kstat2_metaflag_t mflags) {
    return create("kstat2_create", {pseg, npseg, zone, flags, desc, mflags},
                  [=](Wanted& wanted, std::string& why) {
                      return check_pairs(wanted, data, ndata, md, why);
                  });
}

kstat2_t* kstat2_create_with_template(const char* pseg[], uint32_t npseg, zoneid_t zone,
                                      kstat2_template_t* tmpl, uint32_t flags, kstat2_named_t* data,
                                      const char* desc, kstat2_metaflag_t mflags) {
    return create("kstat2_create_with_template", {pseg, npseg, zone, flags, desc, mflags},
                  [=](Wanted& wanted, std::string& why) {
                      if (tmpl == nullptr) {
                          why = "the template is NULL";
                          return false;
                      }
                      const auto count = static_cast<uint_t>(tmpl->fields.size());
                      if (!check_pairs(wanted, data, count, nullptr, why)) return false;
                      wanted.metatype = tmpl->metatype;
                      wanted.fields = tmpl->fields;
                      for (uint_t i = 0; i < count; ++i) wanted.md[i] = tmpl->fields[i].md;
                      return true;
                  });
}

kstat2_t* kstat2_create_histogram(const char* pseg[], uint32_t npseg, zoneid_t zone,
                                  kstat2_nv_hist_type_t type, kstat2_nv_metatype_t content_type,
                                  uint64_t scale, kstat2_nv_metaflag_t md_flags, uint64_t* buckets,
                                  uint16_t num_buckets, uint64_t range_min, uint64_t range_max,
                                  uint64_t stepping, uint32_t flags, const char* desc,
                                  kstat2_metaflag_t mflags) {
    const kstat2_md_t content{narrowed(content_type), md_flags, scale, nullptr, -1};
    const HistogramArguments arguments{
        {type, range_min, range_max, stepping}, content, buckets, num_buckets};
    return create(
        "kstat2_create_histogram", {pseg, npseg, zone, flags, desc, mflags},
        [&](Wanted& wanted, std::string& why) { return check_histogram(wanted, arguments, why); });
}
// NOLINTEND(readability-function-size)

void kstat2_delete(kstat2_t* ksp) {
    if (ksp == nullptr) return;
    if (!Maps::of_this_process().remove(ksp)) {
        warn("kstat2_delete: %p is not a kstat", static_cast<void*>(ksp));
    }
}

void kstat2_delete_zone(kid_t kid, zoneid_t zone) {
    Maps::of_this_process().remove(kid, zone);
}

kstat2_t* kstat2_hold_bykid(kid_t kid) {
    return Maps::of_this_process().hold(kid);
}

void kstat2_rele(kstat2_t* ksp) {
    if (!Maps::of_this_process().release(ksp)) {
        blkscope::kstat::panic("kstat2_rele: nobody holds %p", static_cast<void*>(ksp));
    }
}

void kstat2_zone_add(kstat2_t* ksp, zoneid_t zone) {
    if (zone < ALL_ZONES || zone > zone_max) return warn("kstat2_zone_add: no zone %d", zone);
    if (!Maps::of_this_process().zone_add(ksp, zone)) {
        warn("kstat2_zone_add: %p is not a kstat", static_cast<void*>(ksp));
    }
}

void kstat2_zone_remove(kstat2_t* ksp, zoneid_t zone) {
    if (!Maps::of_this_process().zone_remove(ksp, zone)) {
        warn("kstat2_zone_remove: %p is not a kstat of zone %d", static_cast<void*>(ksp), zone);
    }
}

kstat2_opt_id_t kstat2_register_optional(const char* name, const char* desc,
                                         kstat2_opt_cb_t callback, void* arg) {
    std::string why;
    const auto id = Optionals::of_this_process().add(name, desc, callback, arg, why);
    if (id == KSTAT2_OPT_INVALID) {
        warn("kstat2_register_optional('%.60s'): %s", name == nullptr ? "" : name, why.c_str());
    }
    return id;
}

void kstat2_unregister_optional(kstat2_opt_id_t id) {
    if (!Optionals::of_this_process().remove(id)) {
        warn("kstat2_unregister_optional(%d): no such id", id);
    }
}

}  // extern "C"
