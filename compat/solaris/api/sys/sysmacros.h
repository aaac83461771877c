/*
 * An addition to Linux' own <sys/sysmacros.h>, which has the parts of a device's number: small computations
 * that Solaris' programs take from here.
 *
 *     P2ROUNDUP(bytes, 512)     bytes, rounded up to a multiple of a power of two
 *     roundup(bytes, 1000)      the same for any number
 *
 * An argument is evaluated more than once. `align` is a power of two, of the type of the other argument.
 *
 * Source: the names are those of Solaris' <sys/sysmacros.h>.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_SYSMACROS_H
#define _BLKSCOPE_SOLARIS_SYS_SYSMACROS_H

#pragma GCC system_header /* for include_next */

#include <sys/param.h> /* MIN, MAX, roundup and howmany */
#include_next <sys/sysmacros.h>

#ifndef ABS
#define ABS(a) ((a) < 0 ? -(a) : (a))
#endif
#ifndef SIGNOF
#define SIGNOF(a) ((a) < 0 ? -1 : (a) > 0) /* -1, 0 or 1 */
#endif
#ifndef ARRAY_SIZE
#define ARRAY_SIZE(x) (sizeof(x) / sizeof((x)[0]))
#endif
#ifndef __DECONST
#define __DECONST(type, var) ((type)(uintptr_t)(const void *)(var))
#endif

/* Blocks of DEV_BSIZE bytes: to bytes; from bytes, rounded up and down; the same in 64 bits, up. */
#define dtob(blocks) ((blocks) << DEV_BSHIFT)
#define btod(bytes) (((bytes) + DEV_BSIZE - 1) >> DEV_BSHIFT)
#define btodt(bytes) ((bytes) >> DEV_BSHIFT)
#define lbtod(bytes) (((offset_t)(bytes) + DEV_BSIZE - 1) >> DEV_BSHIFT)

/* Powers of two. */
#define ISP2(x) (((x) & ((x)-1)) == 0) /* whether x is one, or 0 */
#define IS_P2ALIGNED(v, a) ((((uintptr_t)(v)) & ((uintptr_t)(a)-1)) == 0)
#define P2ALIGN(x, align) ((x) & -(align))       /* rounded down */
#define P2ROUNDUP(x, align) (-(-(x) & -(align))) /* rounded up */
#define P2END(x, align) (-(~(x) & -(align)))     /* the next multiple, never x itself */
#define P2PHASE(x, align) ((x) & ((align)-1))    /* what is above the multiple below */
#define P2NPHASE(x, align) (-(x) & ((align)-1))  /* what lacks to the multiple above */
#define P2PHASEUP(x, align, phase) ((phase) - (((phase) - (x)) & -(align)))
#define P2BOUNDARY(off, len, align) \
    (((off) ^ ((off) + (len)-1)) > (align)-1) /* crosses a multiple */
#define P2SAMEHIGHBIT(x, y) (((x) ^ (y)) < ((x) & (y)))

/* The same in a type. */
#define P2ALIGN_TYPED(x, align, type) ((type)(x) & -(type)(align))       /* down */
#define P2ROUNDUP_TYPED(x, align, type) (-(-(type)(x) & -(type)(align))) /* up */
#define P2END_TYPED(x, align, type) (-(~(type)(x) & -(type)(align)))     /* up, never x */
#define P2PHASE_TYPED(x, align, type) ((type)(x) & ((type)(align)-1))
#define P2NPHASE_TYPED(x, align, type) (-(type)(x) & ((type)(align)-1))

#endif
