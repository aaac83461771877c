/* The raw kstats' structs as Solaris lays them out, under the names of its headers. */
#include <sys/types.h>
#include <sys/param.h>
#include <sys/time.h>
#include <sys/cpuvar.h>
#include <sys/dnlc.h>
#include <sys/loadavg.h>
#include <sys/processor.h>
#include <sys/sysinfo.h>
#include <sys/var.h>
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

unsigned solaris_context_switches(const void *raw);
unsigned solaris_context_switches(const void *raw) {
    const boolean_t present = raw != NULL ? B_TRUE : B_FALSE;
    return present ? ((const cpu_stat_t *)raw)->cpu_sysinfo.pswitch : 0;
}
