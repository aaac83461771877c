/*
 * An addition to the C library's own <string.h>: bounded copies of FreeBSD. Link -lkvm.
 *
 * Threads: any.
 * Source:  strlcpy(3), strnstr(3).
 */
#ifndef _BLKSCOPE_FREEBSD_STRING_H
#define _BLKSCOPE_FREEBSD_STRING_H

#pragma GCC system_header /* for include_next */

#include_next <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#if !__GLIBC_PREREQ(2, 38) /* later versions have both */
/*
 * Copy or append a text. `size` is the room at `to` in bytes, the NUL included. The result is the
 * length of the whole text. A result of `size` or more means that the text was cut. strlcat does
 * not change a text that does not end within `size`.
 */
size_t strlcpy(char *to, const char *from, size_t size);
size_t strlcat(char *to, const char *from, size_t size);
#endif

/* Finds `what` in the first `size` bytes of `in`. NULL: not found. */
char *strnstr(const char *in, const char *what, size_t size);

/* The strerror_r of POSIX, as on FreeBSD. The result is an errno, 0 for success. */
int __xpg_strerror_r(int error, char *buffer, size_t size);
#undef strerror_r
#define strerror_r __xpg_strerror_r

#ifdef __cplusplus
}
#endif

#endif
