// KstatIndex: finds the kstats of a chain by name. kstat_lookup walks the chain for each name, which
// for a thousand devices is most of the time of a look.
#pragma once

#include <kstat.h>

#include <string>
#include <string_view>
#include <unordered_map>

#include "tools/program/kstats.hpp"

namespace blkscope::program {

/// Ownership: borrows the chain from follow() to the next one.
/// Threads:   one.
class KstatIndex {
  public:
    /// Brings the index up to date with the chain, behind each update of it.
    void follow(const kstat_ctl_t* kc) {
        if (kc == nullptr || kc->kc_chain_id == chain_id_) return;
        chain_id_ = kc->kc_chain_id;
        kstats_.clear();
        for (kstat_t* ksp = kc->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
            kstats_.try_emplace(key(provider_of(*ksp), field_text(ksp->ks_module), ksp->ks_instance,
                                    field_text(ksp->ks_name)),
                                ksp);
        }
    }

    /// The kstat of that provider and name; null if there is none.
    [[nodiscard]] kstat_t* find(int provider, std::string_view module, int instance,
                                std::string_view name) const {
        const auto found = kstats_.find(key(provider, module, instance, name));
        return found == kstats_.end() ? nullptr : found->second;
    }

  private:
    static std::string key(int provider, std::string_view module, int instance,
                           std::string_view name) {
        std::string text = std::to_string(provider) + " " + std::to_string(instance);
        text.append(1, '\0').append(module).append(1, '\0').append(name);
        return text;
    }

    kid_t chain_id_ = 0;  // no chain has this id
    std::unordered_map<std::string, kstat_t*> kstats_;
};

}  // namespace blkscope::program
