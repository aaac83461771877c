/*
 * Assertions of drivers. VERIFY is always tested, and ASSERT with -DDEBUG only, as on Solaris. A
 * failure prints one line on standard error and aborts.
 *
 *     VERIFY(instance >= 0);
 *     VERIFY3U(ksp->ks_ndata, ==, 4);
 *     ASSERT(MUTEX_HELD(&lock));
 *
 * The first of these prints, for example:
 *
 *     assertion failed: instance >= 0, file: disk.c, line: 12
 *
 * The arguments of a VERIFY are evaluated once. Without -DDEBUG, the arguments of
 * an ASSERT are not evaluated, so an ASSERT must not change anything.
 *
 * Source: ASSERT(9F).
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_DEBUG_H
#define _BLKSCOPE_SOLARIS_SYS_DEBUG_H

#pragma GCC system_header /* C++: casts of C */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/note.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tells the failure, and aborts. */
__attribute__((__noreturn__, __unused__)) static void _blkscope_assfail(const char *what,
                                                                        const char *file,
                                                                        int line) {
    fprintf(stderr, "assertion failed: %s, file: %s, line: %d\n", what, file, line);
    abort();
}

/* A condition. A number or a pointer that is not 0 is true. */
#define VERIFY(condition) \
    ((void)((condition) || (_blkscope_assfail(#condition, __FILE__, __LINE__), 0)))
/* A comparison of two numbers without a sign, two with a sign, and two pointers. */
#define VERIFY3U(a, op, b) VERIFY((uint64_t)(a)op(uint64_t)(b))
#define VERIFY3S(a, op, b) VERIFY((int64_t)(a)op(int64_t)(b))
#define VERIFY3P(a, op, b) VERIFY((uintptr_t)(a)op(uintptr_t)(b))
/* A number that must be 0, such as the result of a function. */
#define VERIFY0(a) VERIFY3U(a, ==, 0)

/* The same, for programs that are compiled with -DDEBUG. */
#ifdef DEBUG
#define ASSERT(condition) VERIFY(condition)
#define ASSERT3U(a, op, b) VERIFY3U(a, op, b)
#define ASSERT3S(a, op, b) VERIFY3S(a, op, b)
#define ASSERT3P(a, op, b) VERIFY3P(a, op, b)
#else
#define ASSERT(condition) ((void)0)
#define ASSERT3U(a, op, b) ((void)0)
#define ASSERT3S(a, op, b) ((void)0)
#define ASSERT3P(a, op, b) ((void)0)
#endif
/* As VERIFY0, with -DDEBUG. */
#define ASSERT0(a) ASSERT3U(a, ==, 0)

#ifdef __cplusplus
}
#endif

#endif
