/*
 * An addition to the C library's own <stdlib.h>: functions of FreeBSD. Link -lkvm.
 *
 * Threads: any, but setprogname.
 * Source:  getprogname(3), reallocf(3), strtonum(3).
 */
#ifndef _BLKSCOPE_FREEBSD_STDLIB_H
#define _BLKSCOPE_FREEBSD_STDLIB_H

#pragma GCC system_header /* for include_next */

#include_next <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The name of the program without its folder. The set function stores the pointer, not a copy. */
const char *getprogname(void);
void setprogname(const char *name);

/* As realloc(3), but frees the memory if the memory cannot grow. */
void *reallocf(void *memory, size_t size);

/*
 * Reads a decimal number between min and max. On success *why is NULL, and errno is unchanged.
 * Errors: 0, with errno set. *why is "invalid", "too small" or "too large". `why` may be NULL.
 */
long long strtonum(const char *text, long long min, long long max, const char **why);

/*
 * The unit in which a program prints sizes: the environment variable BLOCKSIZE, such as "1K", "4M",
 * "K" or "2048". Without the variable, or with a wrong one, 512 bytes. A wrong one gives a warning.
 *
 * The result is a title such as "1K-blocks", whose length is stored in *length. The text belongs to
 * the function, until the next call. *size is the bytes of the unit, 512 to 1 GiB. A unit beyond
 * these becomes the nearer one, with a warning.
 *
 * Threads: one at a time.
 * Source:  getbsize(3).
 */
char *getbsize(int *length, long *size);

#ifdef __cplusplus
}
#endif

#endif
