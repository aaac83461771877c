// Installing a kstat makes it visible to other processes, so these functions are part of the
// server.
#include <sys/kstat.h>
#include <sys/kstat2.h>

#include "kstat/provider/publication.hpp"
#include "kstat/registry/chain.hpp"
#include "kstat/registry/maps.hpp"
#include "kstat/registry/report.hpp"

extern "C" void kstat_install(kstat_t* ksp) {
    using namespace blkscope::kstat;
    if (!Chain::of_this_process().install(ksp)) {
        warn("kstat_install: %p is not a kstat", static_cast<void*>(ksp));
        return;
    }
    Publication::of_this_process().serve_somehow();
}

extern "C" void kstat2_install(kstat2_t* ksp) {
    // Full names, without a using directive: <sys/kstat.h> and <sys/kstat2.h> have structures with
    // the names of the namespaces.
    std::string why;
    if (ksp == nullptr || !blkscope::kstat2::Maps::of_this_process().install(ksp, why)) {
        const bool known = ksp != nullptr && why != blkscope::kstat2::no_such_kstat;
        blkscope::kstat::warn("kstat2_install('%s'): %s", known ? ksp->ks2_path : "",
                              ksp == nullptr ? "ksp is NULL" : why.c_str());
        return;
    }
    blkscope::kstat::Publication::of_this_process().serve_somehow();
}
