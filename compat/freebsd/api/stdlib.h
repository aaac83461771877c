/* Below the C library's own <stdlib.h>: what FreeBSD's has besides. Link -lkvm. */
#ifndef _BLKSCOPE_FREEBSD_STDLIB_H
#define _BLKSCOPE_FREEBSD_STDLIB_H

#pragma GCC system_header /* for include_next */

#include_next <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The program's name without its folder; to be set to another, which is not copied. */
const char *getprogname(void);
void setprogname(const char *name);

/* realloc, but what cannot grow is freed. */
void *reallocf(void *memory, size_t size);

/* A decimal number between min and max. Otherwise 0, with *why "invalid", "too small" or "too
 * large", and errno; where it is one, *why is NULL and errno is left alone. `why` may be NULL. */
long long strtonum(const char *text, long long min, long long max, const char **why);

#ifdef __cplusplus
}
#endif

#endif
