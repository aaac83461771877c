/* Below the C library's own <string.h>: copies that know how much room there is. Link -lkvm. */
#ifndef _BLKSCOPE_FREEBSD_STRING_H
#define _BLKSCOPE_FREEBSD_STRING_H

#pragma GCC system_header /* for include_next */

#include_next <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#if !__GLIBC_PREREQ(2, 38) /* which has them */
/* `size` is the room at `to`, with that for the NUL. The result is how long the text would be: if
 * it is `size` or more, it was cut. strlcat leaves a text alone that does not end within `size`. */
size_t strlcpy(char *to, const char *from, size_t size);
size_t strlcat(char *to, const char *from, size_t size);
#endif

/* Where `what` begins in the first `size` bytes of `in`; NULL: nowhere. */
char *strnstr(const char *in, const char *what, size_t size);

/* POSIX' function, as FreeBSD has it: an errno. */
int __xpg_strerror_r(int error, char *buffer, size_t size);
#undef strerror_r
#define strerror_r __xpg_strerror_r

#ifdef __cplusplus
}
#endif

#endif
