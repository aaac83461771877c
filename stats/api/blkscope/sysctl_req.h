/*
 * The request of a sysctl(3) and the arguments of its handler, as sysctl(9) of FreeBSD names them.
 * <sys/stats.h> and FreeBSD's <sys/sysctl.h> include this.
 *
 * A handler copies the old value out with SYSCTL_OUT, and then, if newptr is not NULL, the new one in
 * with SYSCTL_IN. The caller gives the functions that copy: a caller who wants the value as a text
 * has an oldfunc that appends to one. No member other than these is read by a handler of ours.
 *
 * Units:     bytes.
 * Threads:   a request belongs to one.
 * Errors:    an errno value, of the copying functions too; a handler passes it on.
 * Source:    sysctl(9).
 */
#ifndef _BLKSCOPE_SYSCTL_REQ_H
#define _BLKSCOPE_SYSCTL_REQ_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sysctl_oid; /* a name's entry in FreeBSD's kernel; NULL here */

struct sysctl_req {
    void* oldptr;  /* for oldfunc: where the old value goes */
    size_t oldlen; /* the room there */
    size_t oldidx; /* the bytes copied so far */
    int (*oldfunc)(struct sysctl_req*, const void*, size_t); /* copies out */
    const void* newptr; /* the new value; NULL: the value is only read */
    size_t newlen;      /* its bytes */
    size_t newidx;      /* the bytes taken so far */
    int (*newfunc)(struct sysctl_req*, void*, size_t); /* copies in */
};

/* The parameters of a handler. arg1 and arg2 are those of its SYSCTL_PROC(9). */
#define SYSCTL_HANDLER_ARGS \
    struct sysctl_oid *oidp, void *arg1, intmax_t arg2, struct sysctl_req *req

#define SYSCTL_IN(r, p, l) ((r)->newfunc)((r), (p), (l))  /* l bytes of the new value to p */
#define SYSCTL_OUT(r, p, l) ((r)->oldfunc)((r), (p), (l)) /* l bytes of p to the old value */

#ifdef __cplusplus
}
#endif

#endif /* _BLKSCOPE_SYSCTL_REQ_H */
