/* A driver for Solaris has the locks from <sys/kstat.h> alone, because its compiler defines _KERNEL. */
#include <sys/kstat.h>

kmutex_t *driver_sees_its_lock(kstat_t *ksp);
kmutex_t *driver_sees_its_lock(kstat_t *ksp) {
    return (kmutex_t *)ksp->ks_lock;
}
