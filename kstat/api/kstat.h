/*
 * libkstat: reading kstats.
 *
 * Source compatible with Solaris' <kstat.h>; written anew after kstat(3KSTAT) and its sisters. The
 * library exports these seven functions and nothing else.
 *
 * A handle holds this process's copy of the chain: the machine's own kstats, which the library
 * computes from /proc and /sys (docs/host-kstats.md), and every kstat of every live provider in the
 * run directory ($KSTAT_DIR, else /run/kstat for root, else $XDG_RUNTIME_DIR/kstat).
 *
 * Units:   as <sys/kstat.h>: CLOCK_MONOTONIC nanoseconds, bytes.
 * Threads: one handle, one thread. Different handles do not know of each other.
 * Errors:  -1 or NULL, with errno set.
 */
#ifndef _KSTAT_H
#define _KSTAT_H

#include <sys/kstat.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kstat_ctl {
    kid_t kc_chain_id; /* of the copy; changes whenever the chain does */
    kstat_t *kc_chain; /* its first kstat, in the order of the ks_kid */
    int kc_kd;         /* the library's own descriptor, closed on exec */
} kstat_ctl_t;

/* A handle with the chain loaded; the caller's until kstat_close. NULL: errno says why. */
kstat_ctl_t *kstat_open(void);

/* Frees the handle, the chain and every ks_data. 0. */
int kstat_close(kstat_ctl_t *kc);

/*
 * Brings the copy of the chain up to date. 0: nothing changed. Else the new chain id: kstats that
 * are gone have been freed, new ones stand at the end, and all others are where they were, with the
 * data they had.
 */
kid_t kstat_chain_update(kstat_ctl_t *kc);

/*
 * Reads ksp's data from its provider into ksp->ks_data (allocated by the library), and copies it to
 * buf unless that is NULL; buf must have room for ks_data_size bytes. Returns the chain id.
 * ENXIO: the kstat or its provider is gone, or the provider does not answer.
 */
kid_t kstat_read(kstat_ctl_t *kc, kstat_t *ksp, void *buf);

/*
 * Writes buf (or ks_data where that is NULL) to the provider. EPERM: not the provider's user nor
 * root. EACCES: not a writable kstat. EINVAL: the data does not have the kstat's form.
 */
kid_t kstat_write(kstat_ctl_t *kc, kstat_t *ksp, void *buf);

/* The first kstat of that name; NULL, -1 and NULL match any. NULL: ENOENT. */
kstat_t *kstat_lookup(kstat_ctl_t *kc, const char *ks_module, int ks_instance, const char *ks_name);

/* The record of that name in a NAMED or TIMER kstat that has been read. NULL: ENOENT, EINVAL. */
void *kstat_data_lookup(kstat_t *ksp, const char *name);

#ifdef __cplusplus
}
#endif

#endif
