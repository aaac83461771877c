// The headers as C++14 sees them.
#include <sys/arb.h>
#include <sys/qmath.h>
#include <sys/sbuf.h>
#include <sys/stats.h>

int stats_cxx14() {
    s64q_t q;
    Q_INI(&q, 1, 5, 16);
    auto buckets = stats_hist_lin(VSD_DTYPE_CRHIST64, 0, 10, 1);
    voistatspec vss[] = {STATS_VSS_SUM(), stats_vss_hist(buckets)};
    return static_cast<int>(NVSS(vss)) + Q_GIVAL(q) == 3 ? 0 : 1;
}
