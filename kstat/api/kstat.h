/*
 * libkstat: reading kstats. <sys/kstat.h> explains kstats, their units and their life.
 *
 * Source compatible with Solaris' <kstat.h>; written anew after kstat(3KSTAT) and its sisters. The
 * library exports these seven functions and nothing else.
 *
 * A handle has this process's copy of the chain. The copy contains the machine's own kstats, which
 * the library computes from /proc and /sys (docs/host-kstats.md). The copy also contains every
 * kstat of every provider in the run directory. The run directory is $KSTAT_DIR, else /run/kstat
 * for root, else $XDG_RUNTIME_DIR/kstat.
 *
 *     kstat_ctl_t *kc = kstat_open();                    headers, without data
 *     kstat_t *ksp = kstat_lookup(kc, "nbd", 0, "nbd0");
 *     kstat_read(kc, ksp, NULL);                         now ksp->ks_data is filled in
 *     KSTAT_IO_PTR(ksp)->nread                           bytes
 *     kstat_close(kc);
 *
 * Units:     as <sys/kstat.h>: CLOCK_MONOTONIC nanoseconds, bytes.
 * Ownership: every kstat_t and every ks_data belongs to the handle. A kstat_t stays at its address
 *            until kstat_close, or until the kstat_chain_update that finds the kstat deleted.
 * Threads:   one thread at a time per handle. Two handles share nothing. After fork() both processes
 *            may use a handle.
 * Errors:    -1 or NULL, with errno set. A provider that does not answer gives ENXIO; a call never
 *            waits for a dead or stopped process without end.
 */
#ifndef _KSTAT_H
#define _KSTAT_H

#include <sys/kstat.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A handle. Programs read the first two fields and write none. */
typedef struct kstat_ctl {
    kid_t kc_chain_id; /* the number of this copy of the chain; differs after each change */
    kstat_t *kc_chain; /* the first kstat; ks_next follows in the order of the ks_kid */
    int kc_kd;         /* a descriptor of the library, closed on exec */
} kstat_ctl_t;

/*
 * Opens a handle and loads the headers of the chain. The handle is the caller's until kstat_close.
 * The chain lacks providers for which the process has no descriptor: see kstat_chain_update.
 * Errors: NULL, with errno set: no memory, or the run directory cannot be read.
 */
kstat_ctl_t *kstat_open(void);

/* Frees the handle, every kstat_t and every ks_data. Returns 0, or -1 with errno set. */
int kstat_close(kstat_ctl_t *kc);

/*
 * Brings the copy of the chain up to date. Returns 0 if nothing changed, else the new chain id:
 *
 *     kstats that were deleted       unlinked and freed, ks_data too
 *     kstats that are new            linked at the end, ks_data NULL
 *     all other kstats               same address, same header, same ks_data: nothing is refreshed
 *
 * Errors: -1, with errno set. The copy stays usable. EMFILE, ENFILE: the process has no descriptor
 *         for some provider. The copy lacks that provider's kstats, and else is up to date. Only a
 *         program with KSTAT_WARN in its environment is told so, and only if nothing has changed.
 */
kid_t kstat_chain_update(kstat_ctl_t *kc);

/*
 * Reads the data of ksp from its provider into ksp->ks_data, which the library allocates. The call
 * also sets ks_ndata, ks_data_size, ks_flags and ks_snaptime. If buf is not NULL, the call copies
 * the data to buf, which must have room for ks_data_size bytes.
 *
 * Returns the chain id. An id that differs from kc_chain_id asks for an update of the chain. The call
 * sees a change by the provider that it reads, and a provider that came or ended. Where there are
 * several run directories, each call looks at one of them in turn. A change of another provider's
 * own kstats is not seen, nor is the end of another one that was killed.
 *
 * The call waits one second for the provider, and longer for long data. A provider whose ks_update
 * takes longer counts as stopped. All its kstats then give ENXIO until the late answer has come. So
 * they do, until the next update of the chain, after five seconds of slow answers in a row.
 *
 * Strings of a NAMED kstat lie behind its records, in ks_data and in buf alike.
 * Errors: -1. ENXIO: the kstat or its provider does not exist any more, or does not answer. ENOMEM:
 *         no memory. EFBIG: the data has more than 64 MiB. Others come from the provider's update.
 */
kid_t kstat_read(kstat_ctl_t *kc, kstat_t *ksp, void *buf);

/*
 * Writes the data to the provider. The data is buf, or ks_data if buf is NULL. The call copies buf
 * to ks_data first. Returns the chain id, as kstat_read does.
 *
 * Errors: -1. EPERM: the caller is neither root nor the provider's user. EACCES: the kstat is not
 *         writable. EINVAL: size, number or types of records differ from the provider's. ENXIO: as
 *         for kstat_read.
 */
kid_t kstat_write(kstat_ctl_t *kc, kstat_t *ksp, void *buf);

/*
 * Finds the first kstat of the chain with this module, instance and name. NULL, -1 and NULL match
 * any module, instance and name.
 * Errors: NULL. ENOENT: no kstat matches.
 */
kstat_t *kstat_lookup(kstat_ctl_t *kc, const char *ks_module, int ks_instance, const char *ks_name);

/*
 * Finds the first record of this name in the ks_data of a NAMED or TIMER kstat. The result is a
 * kstat_named_t or a kstat_timer_t inside ks_data, valid until the next kstat_read of ksp.
 * Errors: NULL. ENOENT: no such record, or ksp was never read. EINVAL: another type of kstat.
 */
void *kstat_data_lookup(kstat_t *ksp, const char *name);

#ifdef __cplusplus
}
#endif

#endif
