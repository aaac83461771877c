/*
 * Properties of the instruction set: the width of a pointer and the order of bytes. As on Solaris, one word
 * of each pair is defined, so programs test the words with #ifdef.
 *
 *     #ifdef _BIG_ENDIAN
 *         the first byte of a number is the highest one
 *     #else
 *         the first byte is the lowest one
 *     #endif
 *
 * With -U_LP64 a program of 64 bits counts as one of 32 bits, as in <sys/kstat.h>.
 *
 * Source: the names are those of Solaris' <sys/isa_defs.h>.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_ISA_DEFS_H
#define _BLKSCOPE_SOLARIS_SYS_ISA_DEFS_H

/* The compiler defines _LP64 itself. */
#if !defined(_LP64) && !defined(_ILP32)
#define _ILP32
#endif

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#ifndef _BIG_ENDIAN
#define _BIG_ENDIAN
#endif
#else
#ifndef _LITTLE_ENDIAN
#define _LITTLE_ENDIAN
#endif
#endif

#endif
