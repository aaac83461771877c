/*
 * A reader as written for Solaris: prints "module:instance:name bytes operations" of each disk and
 * the value of fd:0:fdstats:opens.
 */
#include <kstat.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    kstat_ctl_t *kc;
    kstat_t *ksp;
    kstat_io_t kio;
    kstat_named_t *knp;

    kc = kstat_open();
    if (kc == NULL) {
        perror("kstat_open");
        return (1);
    }
    for (ksp = kc->kc_chain; ksp != NULL; ksp = ksp->ks_next) {
        if (ksp->ks_type != KSTAT_TYPE_IO || strcmp(ksp->ks_class, "disk") != 0) continue;
        if (kstat_read(kc, ksp, &kio) == -1) continue;
        (void)printf("%s:%d:%s %llu %u\n", ksp->ks_module, ksp->ks_instance, ksp->ks_name,
                     kio.nread, kio.reads);
    }
    ksp = kstat_lookup(kc, "fd", 0, "fdstats");
    if (ksp != NULL && kstat_read(kc, ksp, NULL) != -1) {
        knp = kstat_data_lookup(ksp, "opens");
        if (knp != NULL) (void)printf("opens %lu\n", knp->value.ul);
        knp = kstat_data_lookup(ksp, "vendor");
        if (knp != NULL) (void)printf("vendor %s\n", KSTAT_NAMED_STR_PTR(knp));
    }
    return (kstat_close(kc));
}
