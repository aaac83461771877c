/* The raw kstats' structs as Solaris lays them out, under the names of its headers. */
#include <sys/types.h>
#include <sys/param.h>
#include <sys/time.h>
#include <sys/avl.h>
#include <sys/buf.h>
#include <sys/ccompile.h>
#include <sys/cpuvar.h>
#include <sys/dnlc.h>
#include <sys/flock.h>
#include <sys/list.h>
#include <sys/loadavg.h>
#include <sys/processor.h>
#include <sys/pset.h>
#include <sys/sysinfo.h>
#include <sys/systeminfo.h>
#include <sys/var.h>
#include <sys/vmmeter.h>
#include <nfs/nfs_clnt.h>
#include <libgen.h>
#include <locale.h>
#include <string.h>
#include <kstat.h>

_Static_assert(sizeof(cpu_stat_t) == 380, "95 words");
_Static_assert(offsetof(cpu_stat_t, cpu_sysinfo) == 8, "behind the lock");
_Static_assert(offsetof(cpu_stat_t, cpu_sysinfo.bread) == 36, "behind cpu[4] and wait[3]");
_Static_assert(offsetof(cpu_stat_t, cpu_syswait) == 244, "59 words of cpu_sysinfo");
_Static_assert(offsetof(cpu_stat_t, cpu_vminfo) == 256, "3 words of cpu_syswait");
_Static_assert(offsetof(cpu_stat_t, cpu_vminfo.fsfree) == 376, "the last word");
_Static_assert(sizeof(sysinfo_t) == 24 && sizeof(vminfo_t) == 48, "6 words, 6 long words");
_Static_assert(offsetof(struct var, v_proc) == 8 && sizeof(struct var) == 60, "15 words");
_Static_assert(sizeof(struct ncstats) == 32, "8 words");
_Static_assert(sizeof(struct nc_stats) == 28 * sizeof(kstat_named_t), "28 records");
_Static_assert(sizeof(struct biostats) == 6 * sizeof(kstat_named_t), "6 records");
_Static_assert(sizeof(struct flushmeter) == 24, "6 words");
_Static_assert(offsetof(struct mntinfo_kstat, mik_noresponse) == 220, "behind mik_timers[4]");
_Static_assert(offsetof(struct mntinfo_kstat, mik_curserver) == 232, "the last field");

unsigned solaris_context_switches(const void *raw);
unsigned solaris_context_switches(const void *raw) {
    const boolean_t present = p_online(0, P_STATUS) == P_ONLINE && raw != NULL ? B_TRUE : B_FALSE;
    return present ? ((const cpu_stat_t *)raw)->cpu_sysinfo.pswitch : 0;
}
