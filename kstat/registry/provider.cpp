// The provider's functions of <sys/kstat.h>, except kstat_install, which publishes
// (kstat/provider).
#include <sys/kstat.h>

#include <climits>
#include <cstdio>
#include <string>

#include "kstat/registry/chain.hpp"
#include "kstat/registry/defaults.hpp"
#include "kstat/registry/report.hpp"

namespace {

using blkscope::kstat::Chain;
using blkscope::kstat::Name;
using blkscope::kstat::record_size;
using blkscope::kstat::Wanted;
using blkscope::kstat::warn;

Name full_name(const char* module, int instance, const char* name) {
    Name result{};
    kstat_set_string(result.module, module);
    result.instance = instance;
    if (name != nullptr) {
        kstat_set_string(result.name, name);
    } else {
        char both[KSTAT_STRLEN + sizeof "-2147483648"];
        std::snprintf(both, sizeof both, "%s%d", result.module, instance);
        kstat_set_string(result.name, both);
    }
    return result;
}

class Request {
  public:
    explicit Request(const Wanted& wanted) : wanted_(wanted) {}

    kstat_t* create() const {
        if (!is_legal()) return nullptr;
        Chain::Refusal why{};
        kstat_t* const ksp = Chain::of_this_process().create(wanted_, why);
        if (ksp == nullptr) refuse(text_of(why));
        return ksp;
    }

  private:
    bool is_legal() const {
        if (wanted_.type >= KSTAT_NUM_TYPES) {
            return refuse("invalid kstat type " + std::to_string(wanted_.type));
        }
        if (has(KSTAT_FLAG_PERSISTENT) && has(KSTAT_FLAG_VIRTUAL)) {
            return refuse("cannot create persistent virtual kstat");
        }
        if (has(KSTAT_FLAG_VAR_SIZE) && !has(KSTAT_FLAG_VIRTUAL)) {
            return refuse("cannot create variable-size physical kstat");
        }
        const bool exactly_one = wanted_.type == KSTAT_TYPE_INTR || wanted_.type == KSTAT_TYPE_IO;
        const uint_t low = exactly_one ? 1 : 0;
        const uint_t high = exactly_one ? 1 : INT_MAX;
        if (wanted_.ndata < low || wanted_.ndata > high) {
            return refuse("ks_ndata=" + std::to_string(wanted_.ndata) + " out of range [" +
                          std::to_string(low) + ", " + std::to_string(high) + "]");
        }
        return true;
    }

    bool has(uchar_t flag) const { return (wanted_.flags & flag) != 0; }

    static std::string text_of(Chain::Refusal why) {
        switch (why) {
            case Chain::Refusal::collision:
                return "namespace collision";
            case Chain::Refusal::not_reusable:
                return "invalid reactivation of dormant kstat";
            case Chain::Refusal::no_memory:
                return "insufficient kernel memory";
        }
        return {};
    }

    bool refuse(const std::string& reason) const {
        warn("kstat_create('%s', %d, '%s'): %s", wanted_.name.module, wanted_.name.instance,
             wanted_.name.name, reason.c_str());
        return false;
    }

    const Wanted& wanted_;
};

// The flags that a caller may set; the others belong to the framework.
constexpr uchar_t callers_flags =
    KSTAT_FLAG_VIRTUAL | KSTAT_FLAG_VAR_SIZE | KSTAT_FLAG_WRITABLE | KSTAT_FLAG_PERSISTENT;

}  // namespace

extern "C" {

// NOLINTNEXTLINE(readability-function-size): the signature is Solaris'
kstat_t* kstat_create_zone(const char* module, int instance, const char* name, const char* ks_class,
                           uchar_t type, uint_t ndata, uchar_t flags, zoneid_t zone) {
    blkscope::kstat::Wanted wanted{};
    wanted.name = full_name(module, instance, name);
    kstat_set_string(wanted.klass, ks_class);
    wanted.type = type;
    wanted.ndata = ndata;
    wanted.flags = flags & callers_flags;
    wanted.zone = zone;
    return Request(wanted).create();
}

// NOLINTNEXTLINE(readability-function-size): the signature is Solaris'
kstat_t* kstat_create(const char* module, int instance, const char* name, const char* ks_class,
                      uchar_t type, uint_t ndata, uchar_t flags) {
    return kstat_create_zone(module, instance, name, ks_class, type, ndata, flags, ALL_ZONES);
}

void kstat_delete(kstat_t* ksp) {
    if (ksp == nullptr) return;
    if (!Chain::of_this_process().remove(ksp)) {
        warn("kstat_delete: %p is not a kstat", static_cast<void*>(ksp));
    }
}

void kstat_delete_byname_zone(const char* module, int instance, const char* name, zoneid_t zone) {
    Chain::of_this_process().remove(full_name(module, instance, name), zone);
}

void kstat_delete_byname(const char* module, int instance, const char* name) {
    kstat_delete_byname_zone(module, instance, name, ALL_ZONES);
}

// NOLINTNEXTLINE(readability-function-size): the signature is Solaris'
kstat_t* kstat_create_netstack(const char* module, int instance, const char* name,
                               const char* ks_class, uchar_t type, uint_t ndata, uchar_t flags,
                               netstackid_t stack) {
    return kstat_create_zone(module, instance, name, ks_class, type, ndata, flags, stack);
}

void kstat_delete_netstack(kstat_t* ksp, netstackid_t) {
    kstat_delete(ksp);
}

void kstat_zone_add(kstat_t* ksp, zoneid_t zone) {
    if (!Chain::of_this_process().zone_add(ksp, zone)) {
        warn("kstat_zone_add: %p is not a kstat", static_cast<void*>(ksp));
    }
}

void kstat_zone_remove(kstat_t* ksp, zoneid_t zone) {
    if (!Chain::of_this_process().zone_remove(ksp, zone)) {
        warn("kstat_zone_remove: %p is not a kstat of zone %d", static_cast<void*>(ksp), zone);
    }
}

int kstat_zone_find(kstat_t* ksp, zoneid_t zone) {
    return Chain::of_this_process().zone_sees(ksp, zone) ? 1 : 0;
}

kstat_t* kstat_hold_bykid(kid_t kid, zoneid_t zone) {
    auto held = Chain::of_this_process().hold(kid, zone);
    return held ? held->detach() : nullptr;
}

kstat_t* kstat_hold_byname(const char* module, int instance, const char* name, zoneid_t zone) {
    auto held = Chain::of_this_process().hold(full_name(module, instance, name), zone);
    return held ? held->detach() : nullptr;
}

void kstat_rele(kstat_t* ksp) {
    if (!Chain::of_this_process().release(ksp)) {
        blkscope::kstat::panic("kstat_rele: the calling thread does not hold %p",
                               static_cast<void*>(ksp));
    }
}

}  // extern "C"
