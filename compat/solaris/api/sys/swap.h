/*
 * An addition to Linux' own <sys/swap.h>: swapctl(), with which Solaris' monitors read the use of the
 * swap areas. No area can be added or removed with it.
 *
 *     n = swapctl(SC_GETNSWP, NULL);
 *     table->swt_n = n;                    of a table with room for n, whose ste_path have
 *     n = swapctl(SC_LIST, table);         room for MAXPATHLEN bytes each
 *
 * Ownership: the caller's; no file stays open after a call.
 * Threads:   any. Each call reads /proc anew.
 * Source:    swapctl(2).
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_SWAP_H
#define _BLKSCOPE_SOLARIS_SYS_SWAP_H

#pragma GCC system_header /* for include_next, and C++: casts of C */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include_next <sys/swap.h>
#include <sys/types.h>
#include <unistd.h>
#include <vm/anon.h> /* struct anoninfo */

#ifdef __cplusplus
extern "C" {
#endif

#define SC_ADD 1     /* EPERM here */
#define SC_LIST 2    /* fills in a swaptbl_t; the result is the number of areas */
#define SC_REMOVE 3  /* EPERM here */
#define SC_GETNSWP 4 /* the result is the number of areas */
#define SC_AINFO 5   /* fills in a struct anoninfo */

/* The flags of an area. None is ever set here. */
#define ST_INDEL 0x01    /* is being removed */
#define ST_DOINGDEL 0x02 /* the same, by this call */
#define ST_SYNCDEL 0x04  /* the same, and the caller waits */
#define ST_EXIST 0x08    /* a file of this name */

/* One area. Pages are of sysconf(_SC_PAGESIZE) bytes. */
typedef struct swapent {
    char *ste_path;   /* the caller's room for the name, of MAXPATHLEN bytes; NULL: without it */
    off_t ste_start;  /* where the area begins, in blocks of 512 bytes; 0 */
    off_t ste_length; /* blocks of 512 bytes */
    long ste_pages;   /* pages of the area */
    long ste_free;    /* those that hold no data */
    long ste_flags;   /* ST_INDEL and its sisters; 0 */
} swapent_t;

typedef struct swaptable {
    int swt_n;                 /* the entries that the caller has room for */
    struct swapent swt_ent[1]; /* swt_n of them */
} swaptbl_t;

/* The areas of /proc/swaps, into as many entries as there are; NULL: counts only. -1: no such file. */
static __inline__ int _blkscope_swap_areas(swaptbl_t *table) {
    char line[MAXPATHLEN + 128], path[MAXPATHLEN];
    unsigned long kib, used;
    const unsigned long page_kib = (unsigned long)sysconf(_SC_PAGESIZE) / 1024;
    int count = 0;
    FILE *const file = fopen("/proc/swaps", "re");
    if (file == NULL) return -1;
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%4095s %*s %lu %lu", path, &kib, &used) != 3) continue; /* the heading */
        if (table != NULL && count < table->swt_n) {
            swapent_t *const entry = &table->swt_ent[count];
            if (entry->ste_path != NULL) strcpy(entry->ste_path, path);
            entry->ste_start = 0;
            entry->ste_length = (off_t)(kib * 2);
            entry->ste_pages = (long)(kib / page_kib);
            entry->ste_free = (long)((kib - used) / page_kib);
            entry->ste_flags = 0;
        }
        ++count;
    }
    fclose(file);
    return count;
}

/* Pages of a line of /proc/meminfo, whose name ends with ':'; 0: no such line. */
static __inline__ pgcnt_t _blkscope_memory_pages(const char *name) {
    char line[256], key[64];
    unsigned long kib, found = 0;
    FILE *const file = fopen("/proc/meminfo", "re");
    if (file == NULL) return 0;
    while (found == 0 && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%63s %lu", key, &kib) == 2 && strcmp(key, name) == 0) found = kib;
    }
    fclose(file);
    return found / ((unsigned long)sysconf(_SC_PAGESIZE) / 1024);
}

/*
 * Errors: -1. ENOMEM: the table has room for fewer entries than there are. EPERM: SC_ADD or SC_REMOVE.
 * EINVAL: another command. fopen(3)'s: there is no /proc.
 */
static __inline__ int swapctl(int command, void *argument) {
    int areas;
    struct anoninfo *info;
    switch (command) {
        case SC_GETNSWP:
            return _blkscope_swap_areas(NULL);
        case SC_LIST:
            areas = _blkscope_swap_areas((swaptbl_t *)argument);
            if (areas <= ((swaptbl_t *)argument)->swt_n) return areas;
            errno = ENOMEM;
            return -1;
        case SC_AINFO:
            info = (struct anoninfo *)argument;
            info->ani_resv = _blkscope_memory_pages("Committed_AS:");
            info->ani_max = info->ani_resv + _blkscope_memory_pages("SwapFree:") +
                            _blkscope_memory_pages("MemAvailable:");
            info->ani_free = info->ani_max - (_blkscope_memory_pages("SwapTotal:") -
                                              _blkscope_memory_pages("SwapFree:"));
            return 0;
        case SC_ADD:
        case SC_REMOVE:
            errno = EPERM;
            return -1;
        default:
            errno = EINVAL;
            return -1;
    }
}

#ifdef __cplusplus
}
#endif

#endif
