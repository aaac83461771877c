// Installing a kstat is what makes it visible to other processes, so it is the server's.
#include <sys/kstat.h>

#include <kstat/core/chain.hpp>
#include <kstat/core/report.hpp>
#include <kstat/server/publication.hpp>

extern "C" void kstat_install(kstat_t* ksp) {
    using namespace blkscope::kstat;
    if (!Chain::of_this_process().install(ksp)) {
        warn("kstat_install: %p is not a kstat", static_cast<void*>(ksp));
        return;
    }
    Publication::of_this_process().serve_somehow();
}
