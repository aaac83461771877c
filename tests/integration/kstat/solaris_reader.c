/*
 * A monitor as written for Solaris, in the way of its vmstat, mpstat, sadc and kstat. Prints what
 * the program found: processors, sets, lookups of names, buffers, modules.
 */
#include <errno.h>
#include <fcntl.h>
#include <kstat.h>
#include <kvm.h>
#include <libgen.h>
#include <locale.h>
#include <nfs/nfs.h>
#include <nfs/nfs_clnt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/avl.h>
#include <sys/buf.h>
#include <sys/ccompile.h>
#include <sys/dnlc.h>
#include <sys/flock.h>
#include <sys/list.h>
#include <sys/proc.h>
#include <sys/processor.h>
#include <sys/pset.h>
#include <sys/swap.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/utsname.h>
#include <sys/var.h>
#include <sys/vmmeter.h>
#include <unistd.h>
#include <values.h>
#include <vm/anon.h>

#define CPU_ONLINE(s) ((s) == P_ONLINE || (s) == P_NOINTR)

struct cpu_snapshot {
    processorid_t cs_id;
    psetid_t cs_pset_id;
    int cs_state;
    kstat_t cs_sys;
};

struct snapshot {
    size_t s_nr_cpus;
    struct cpu_snapshot *s_cpus;
    sysinfo_t ss_sysinfo;
    vminfo_t ss_vminfo;
    struct nc_stats ss_nc;
    struct biostats s_biostats;
    struct flushmeter s_flushes;
};

struct instance {
    avl_node_t avl_link;
    kstat_t *ksp;
};

typedef struct module {
    list_node_t next;
    char name[KSTAT_STRLEN];
} module_t;

static kstat_t *lookup_read(kstat_ctl_t *kc, char *module, int instance, char *name, void *buf) {
    kstat_t *ksp = kstat_lookup(kc, module, instance, name);

    if (ksp == NULL || kstat_read(kc, ksp, buf) == -1) {
        (void)fprintf(stderr, gettext("no %s:%d:%s\n"), module, instance, name ? name : "*");
        exit(1);
    }
    return (ksp);
}

static int acquire_cpus(struct snapshot *ss, kstat_ctl_t *kc) {
    size_t i;
    int active = 0;

    ss->s_nr_cpus = sysconf(_SC_CPUID_MAX) + 1;
    ss->s_cpus = calloc(ss->s_nr_cpus, sizeof(struct cpu_snapshot));
    for (i = 0; i < ss->s_nr_cpus; i++) {
        ss->s_cpus[i].cs_id = -1;
        ss->s_cpus[i].cs_state = p_online(i, P_STATUS);
        if (ss->s_cpus[i].cs_state == -1) continue;
        ss->s_cpus[i].cs_id = i;
        (void)lookup_read(kc, "cpu_info", i, NULL, NULL);
        (void)pset_assign(PS_QUERY, i, &ss->s_cpus[i].cs_pset_id);
        if (ss->s_cpus[i].cs_pset_id == PS_NONE) ss->s_cpus[i].cs_pset_id = 0;
        if (!CPU_ONLINE(ss->s_cpus[i].cs_state)) continue;
        ss->s_cpus[i].cs_sys = *lookup_read(kc, "cpu", i, "sys", NULL);
        active++;
    }
    return (active);
}

static int differ_by_half(int a, int b) {
    return abs(a - b) * 2 > b;
}

/* Compares processor_info() of the first processor with the kstat of the same. */
static void print_processor(kstat_ctl_t *kc) {
    processor_info_t info;
    processorid_t first = 0;
    kstat_t *ksp;
    kstat_named_t *type, *fpu, *mhz;

    while (processor_info(first, &info) == -1) first++;
    ksp = lookup_read(kc, "cpu_info", first, NULL, NULL);
    type = kstat_data_lookup(ksp, "cpu_type");
    fpu = kstat_data_lookup(ksp, "fpu_type");
    mhz = kstat_data_lookup(ksp, "clock_MHz");
    (void)printf("processor %d %d %d %d\n", info.pi_state == P_ONLINE,
                 strcmp(info.pi_processor_type, type->value.c) == 0,
                 strcmp(info.pi_fputypes, fpu->value.c) == 0,
                 differ_by_half(info.pi_clock, (int)mhz->value.l));
    errno = 0;
    (void)printf("absent %d", processor_info(MAXINT, &info));
    (void)printf(" %d, texts %d %d\n", errno == EINVAL, PI_TYPELEN, PI_FPUTYPE);
}

/* The time of this thread on a processor grows with work, and not with sleep. */
static int counts_own_time(void) {
    hrtime_t start = gethrvtime(), real = gethrtime(), asleep;
    struct timespec pause = {0, 50 * 1000 * 1000};

    while (gethrvtime() - start < 5 * (hrtime_t)(NANOSEC / MILLISEC))
        ;
    if (gethrtime() - real < gethrvtime() - start - NANOSEC / MILLISEC) return (0);
    asleep = gethrvtime();
    (void)nanosleep(&pause, NULL);
    return (gethrvtime() - asleep < 40 * (hrtime_t)(NANOSEC / MILLISEC));
}

static void print_modules(kstat_ctl_t *kc) {
    list_t modules;
    module_t *m;
    kstat_t *ksp;

    list_create(&modules, sizeof(module_t), offsetof(module_t, next));
    for (ksp = kc->kc_chain; ksp; ksp = ksp->ks_next) {
        if (!gmatch(ksp->ks_module, "[cu]*")) continue;
        for (m = list_head(&modules); m != NULL; m = list_next(&modules, m)) {
            if (strcasecmp(m->name, ksp->ks_module) >= 0) break;
        }
        if (m != NULL && strcmp(m->name, ksp->ks_module) == 0) continue;
        module_t *new_module = calloc(1, sizeof(module_t));
        (void)strlcpy(new_module->name, ksp->ks_module, KSTAT_STRLEN);
        list_insert_before(&modules, m, new_module);
    }
    (void)printf("modules");
    while ((m = list_remove_head(&modules)) != NULL) {
        (void)printf(" %s", m->name);
        free(m);
    }
    (void)printf("\n");
    list_destroy(&modules);
}

static int instance_cmp(const void *one, const void *other) {
    const kstat_t *k1 = ((const struct instance *)one)->ksp;
    const kstat_t *k2 = ((const struct instance *)other)->ksp;
    const int c = strcmp(k1->ks_module, k2->ks_module);

    if (c != 0) return (c < 0 ? -1 : 1);
    return (k1->ks_kid < k2->ks_kid ? -1 : k1->ks_kid > k2->ks_kid);
}

/* Whether all kstats are found, in order, and removed again. */
static boolean_t sort_instances(kstat_ctl_t *kc) {
    avl_tree_t tree;
    avl_index_t where;
    struct instance *i, *last = NULL;
    kstat_t *ksp;
    ulong_t count = 0;
    boolean_t ordered = B_TRUE;

    avl_create(&tree, instance_cmp, sizeof(struct instance), offsetof(struct instance, avl_link));
    for (ksp = kc->kc_chain; ksp; ksp = ksp->ks_next) {
        i = calloc(1, sizeof(struct instance));
        i->ksp = ksp;
        if (avl_find(&tree, i, &where) != NULL) return (B_FALSE);
        last = avl_nearest(&tree, where, AVL_BEFORE);
        if (last != NULL) {
            avl_insert_here(&tree, i, last, AVL_AFTER);
        } else {
            avl_add(&tree, i);
        }
        count++;
    }
    for (i = avl_first(&tree); AVL_NEXT(&tree, i) != NULL; i = AVL_NEXT(&tree, i)) {
        if (instance_cmp(i, AVL_NEXT(&tree, i)) >= 0) ordered = B_FALSE;
    }
    if (avl_numnodes(&tree) != count) ordered = B_FALSE;
    while ((i = avl_first(&tree)) != NULL) {
        avl_remove(&tree, i);
        free(i);
    }
    avl_destroy(&tree);
    return (ordered);
}

static void fail(const char *message, ...) __NORETURN;

static void fail(const char *message, ...) {
    perror(message);
    exit(3);
}

/* As top does: the swap areas, and what is left of the memory that has no file. */
static void print_swap(void) {
    int i, pages = 1, areas = swapctl(SC_GETNSWP, NULL);
    size_t room = sizeof(swaptbl_t) + (size_t)areas * sizeof(swapent_t);
    swaptbl_t *table = calloc(1, room);
    struct anoninfo anon;

    table->swt_n = areas;
    for (i = 0; i < areas; ++i) table->swt_ent[i].ste_path = malloc(MAXPATHLEN);
    (void)printf("areas %d", swapctl(SC_LIST, table) == areas);
    for (i = 0; i < areas; ++i) {
        const swapent_t *entry = &table->swt_ent[i];
        pages = pages && entry->ste_path[0] == '/' && entry->ste_free <= entry->ste_pages &&
                entry->ste_length == entry->ste_pages * (sysconf(_SC_PAGESIZE) / 512) &&
                (entry->ste_flags & (ST_INDEL | ST_DOINGDEL)) == 0;
        free(entry->ste_path);
    }
    free(table);
    (void)printf(" %d, left %d, ", pages,
                 swapctl(SC_AINFO, &anon) == 0 && anon.ani_max > anon.ani_resv &&
                     anon.ani_free <= anon.ani_max && anon.ani_resv > 0);
    (void)printf("%d %d\n", swapctl(SC_ADD, NULL) == -1 && errno == EPERM,
                 swapctl(99, NULL) == -1 && errno == EINVAL);
}

int main(void) {
    struct snapshot ss;
    struct var var;
    struct flock lock;
    size_t sets = MAXLONG;
    hrtime_t first;
    kstat_ctl_t *kc;

    (void)setlocale(LC_ALL, "");
    (void)textdomain("SUNW_OST_OSCMD");
    if ((kc = kstat_open()) == NULL) {
        fail("kstat_open");
    }
    (void)memset(&ss, 0, sizeof(ss));
    (void)printf("active %d\n", acquire_cpus(&ss, kc));
    (void)printf("absent %d\n", p_online(MAXINT, P_STATUS));
    print_processor(kc);
    (void)printf("own time %d\n", counts_own_time());
    if (pset_list(NULL, &sets) < 0) fail("pset_list");
    (void)printf("sets %zu\n", sets);
    (void)lookup_read(kc, "unix", 0, "sysinfo", &ss.ss_sysinfo);
    (void)lookup_read(kc, "unix", 0, "vminfo", &ss.ss_vminfo);
    (void)lookup_read(kc, "unix", 0, "dnlcstats", &ss.ss_nc);
    (void)lookup_read(kc, "unix", 0, "biostats", &ss.s_biostats);
    (void)lookup_read(kc, "unix", 0, "var", &var);
    (void)printf("dnlc %s %s %s %s\n", ss.ss_nc.ncs_hits.name, ss.ss_nc.ncs_pick_last.name,
                 ss.ss_nc.ncs_dir_num_ents.name, ss.ss_nc.ncs_dir_recl_any.name);
    (void)printf("biostats %s %s\n", ss.s_biostats.bio_lookup.name, ss.s_biostats.bio_bufdup.name);
    first = lookup_read(kc, "unix", 0, "system_misc", NULL)->ks_snaptime;
    (void)printf("stamped %d\n",
                 lookup_read(kc, "unix", 0, "system_misc", NULL)->ks_snaptime > first);
    lock.l_type = F_WRLCK;
    (void)printf("sizes %zu %zu %zu %zu %d\n", sizeof(struct nc_stats), sizeof(struct biostats),
                 sizeof(struct flushmeter), sizeof(struct mntinfo_kstat), lock.l_type == F_WRLCK);
    print_swap();
    (void)printf("kernel %d, states %d %d\n",
                 kvm_open(NULL, NULL, NULL, O_RDONLY, NULL) == NULL && errno == EACCES, SSLEEP,
                 SONPROC);
    print_modules(kc);
    (void)printf("ordered %d\n", sort_instances(kc));
    free(ss.s_cpus);
    return (kstat_close(kc));
}
