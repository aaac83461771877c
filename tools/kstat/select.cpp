#include "tools/kstat/select.hpp"

#include <algorithm>

#include "tools/kstat/raw.hpp"

namespace blkscope::kstat_command {

bool is_shown(const kstat_t& ksp) {
    if (field_text(ksp.ks_name).starts_with("kstat_")) return false;
    return ksp.ks_type != KSTAT_TYPE_RAW || is_known_raw(ksp);
}

bool selects(const Selector& selector, const Reading& kstat) {
    return selector.module.matches(kstat.module) &&
           selector.instance.matches(std::to_string(kstat.instance)) &&
           selector.name.matches(kstat.name);
}

bool wanted(const Reading& kstat, const Options& options) {
    return options.kstat_class.matches(kstat.kstat_class) &&
           std::ranges::any_of(options.selectors,
                               [&](const Selector& selector) { return selects(selector, kstat); });
}

bool shown_before(const Reading& one, const Reading& other) {
    if (name_before(one.module, other.module)) return true;
    if (name_before(other.module, one.module)) return false;
    if (one.instance != other.instance) return one.instance < other.instance;
    return name_before(one.name, other.name);
}

}  // namespace blkscope::kstat_command
