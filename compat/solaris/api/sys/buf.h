/*
 * A request to a block device, as a driver gets it, and the records of unix:0:biostats, the cache of disk
 * blocks.
 *
 * A program makes the struct, sets what the driver reads and calls the driver's strategy(9E). The driver
 * sets b_resid, and b_error with bioerror(), and calls biodone(). Then the caller has the request again:
 *
 *     struct buf *bp = getrbuf(KM_SLEEP);
 *     bp->b_flags = B_READ;             and b_edev, b_lblkno, b_bcount, b_un.b_addr
 *     (void)fd_strategy(bp);
 *     error = biowait(bp);              0, or b_error; b_bcount - b_resid bytes were moved
 *     freerbuf(bp);
 *
 * biodone() calls b_iodone where it is set, and then does not wake biowait(), as on Solaris.
 *
 * Units:     bytes in b_bcount, b_bufsize and b_resid, blocks of DEV_BSIZE bytes in b_lblkno; events since
 *            boot in biostats.
 * Ownership: the caller's, but from strategy to biodone() the driver's. The data is always the caller's.
 * Threads:   one at a time, except for biowait() beside biodone().
 * Source:    buf(9S), biodone(9F), bioerror(9F), getrbuf(9F). The order of biostats is that of Solaris'
 *            <sys/buf.h>; that of struct buf is not.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_BUF_H
#define _BLKSCOPE_SOLARIS_SYS_BUF_H

#pragma GCC system_header /* C++: casts of C */

#include <errno.h>
#include <semaphore.h>
#include <string.h>
#include <sys/kmem.h>
#include <sys/kstat.h>
#include <sys/param.h>
#include <sys/t_lock.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct biostats {
    /* look-ups and hits; requests for a buffer and waits for one; busy and duplicate buffers */
    kstat_named_t bio_lookup, bio_hit, bio_bufwant, bio_bufwait, bio_bufbusy, bio_bufdup;
};

/* b_flags */
#define B_BUSY 0x0001        /* in use, from getrbuf() on */
#define B_DONE 0x0002        /* biodone() was called */
#define B_ERROR 0x0004       /* failed: see b_error */
#define B_PAGEIO 0x0010      /* for pages; never set here */
#define B_PHYS 0x0020        /* the data is a program's, not the cache's */
#define B_READ 0x0040        /* a read; without it, a write */
#define B_WRITE 0x0100       /* no read; says nothing by itself */
#define B_ASYNC 0x000400     /* nobody waits */
#define B_REMAPPED 0x004000  /* bp_mapin() was called */
#define B_FAILFAST 0x1000000 /* do not try again if the device is gone */

typedef struct buf {
    int b_flags;                   /* B_READ and its sisters */
    struct buf *b_forw, *b_back;   /* links: the driver's, from strategy to biodone() */
    struct buf *av_forw, *av_back; /* and others */
    size_t b_bcount;               /* bytes that are asked for */
    union {
        char *b_addr; /* the data */
    } b_un;
    diskaddr_t b_lblkno;           /* the first block on the device */
    size_t b_resid;                /* bytes that were not moved */
    size_t b_bufsize;              /* bytes of the memory */
    clock_t b_start;               /* when it began, in ticks: the driver's */
    int (*b_iodone)(struct buf *); /* called by biodone(); NULL: none */
    int b_error;                   /* an errno; 0: none */
    void *b_private;               /* the driver's */
    dev_t b_edev;                  /* the device */
    void *b_dip;                   /* its dev_info_t */
    sem_t b_io; /* biodone() posts, biowait() waits; all bytes 0 is the beginning */
} buf_t;

#define b_blkno b_lblkno
#define b_actf \
    av_forw /* the first and the last request of a driver's queue, whose head is a struct buf */
#define b_actl av_back
#define paddr(bp) ((bp)->b_un.b_addr)

/* Makes a request whose members are 0. */
static __inline__ void bioinit(struct buf *bp) {
    memset(bp, 0, sizeof *bp);
    sem_init(&bp->b_io, 0, 0);
}

/* Makes a request that was given back ready for another use. */
static __inline__ void bioreset(struct buf *bp) {
    bioinit(bp);
    bp->b_flags = B_BUSY;
}

/* A request in memory of its own. NULL: there is none, with KM_NOSLEEP. */
static __inline__ struct buf *getrbuf(int sleep) {
    struct buf *const bp = (struct buf *)kmem_alloc(sizeof *bp, sleep);
    if (bp != NULL) bioreset(bp);
    return bp;
}
static __inline__ void freerbuf(struct buf *bp) {
    kmem_free(bp, sizeof *bp);
}

/* Sets the request's error; 0 takes it back. */
static __inline__ void bioerror(struct buf *bp, int error) {
    bp->b_flags = error != 0 ? bp->b_flags | B_ERROR : bp->b_flags & ~B_ERROR;
    bp->b_error = error;
}

/* The request's error, EIO if a driver set B_ERROR alone; 0: none. */
static __inline__ int geterror(struct buf *bp) {
    if ((bp->b_flags & B_ERROR) == 0) return 0;
    return bp->b_error != 0 ? bp->b_error : EIO;
}

/* Gives the request back to its caller. */
static __inline__ void biodone(struct buf *bp) {
    bp->b_flags |= B_DONE;
    if (bp->b_iodone != NULL) {
        (void)bp->b_iodone(bp);
    } else {
        sem_post(&bp->b_io);
    }
}

/* Waits for biodone(). Returns geterror(). */
static __inline__ int biowait(struct buf *bp) {
    while (sem_wait(&bp->b_io) == -1 && errno == EINTR) continue;
    return geterror(bp);
}

/* The data of a request is in the program's memory already. */
static __inline__ void bp_mapin(struct buf *bp) {
    bp->b_flags |= B_REMAPPED;
}
static __inline__ void bp_mapout(struct buf *bp) {
    bp->b_flags &= ~B_REMAPPED;
}

#ifdef __cplusplus
}
#endif

#endif
