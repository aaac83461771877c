/*
 * The data of two kstats about the cache of names in directories. The RAW kstat unix:0:ncstats is a
 * struct ncstats, and the records of unix:0:dnlcstats are a struct nc_stats. The names and the
 * order are those of Solaris' <sys/dnlc.h>.
 *
 * Units: events since boot. The counts of a struct ncstats have 32 bits and wrap. The records have
 *        64 bits. docs/host-kstats.md says which of them Linux counts.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_DNLC_H
#define _BLKSCOPE_SOLARIS_SYS_DNLC_H

#include <sys/kstat.h>

/* The older form. */
struct ncstats {
    int hits, misses, enters, dbl_enters, long_enter, long_look, move_to_front, purges;
};

/* The newer form: ks_data of the kstat after a kstat_read, and a buffer for one. */
struct nc_stats {
    /* look-ups, and names that were entered */
    kstat_named_t ncs_hits, ncs_misses, ncs_neg_hits, ncs_enters, ncs_dbl_enters;
    /* names that were dropped, and the calls that dropped them */
    kstat_named_t ncs_purge_total, ncs_purge_all, ncs_purge_vp, ncs_purge_vfs, ncs_purge_fs1;
    /* how an entry for a new name was found */
    kstat_named_t ncs_pick_free, ncs_pick_heur, ncs_pick_last;
    /* whole directories */
    kstat_named_t ncs_dir_hits, ncs_dir_misses, ncs_cur_dirs, ncs_dir_num_ents, ncs_dirs_cached;
    kstat_named_t ncs_dir_start_nm, ncs_dir_add_nm, ncs_dir_addabort, ncs_dir_add_max;
    kstat_named_t ncs_dir_reme_fai, ncs_dir_rems_fai, ncs_dir_upd_fail, ncs_dir_finipurg;
    kstat_named_t ncs_dir_rec_last, ncs_dir_recl_any;
};

#endif
