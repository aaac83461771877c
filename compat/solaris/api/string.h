/*
 * An addition to Linux' own <string.h>: strlcpy() and strlcat(), which GNU's C library has from
 * version 2.38 on. `room` is the size of the destination in bytes. A result of `room` or more means
 * that the text was cut.
 */
#ifndef _BLKSCOPE_SOLARIS_STRING_H
#define _BLKSCOPE_SOLARIS_STRING_H

#pragma GCC system_header /* for include_next */

#include_next <string.h>

#if defined(__GLIBC__) && !__GLIBC_PREREQ(2, 38)

/* Copies `from`, cut to `room` bytes with the NUL. Returns the length of `from`. */
static inline size_t strlcpy(char *to, const char *from, size_t room) {
    const size_t length = strlen(from);
    if (room > 0) {
        const size_t kept = length < room ? length : room - 1;
        memcpy(to, from, kept);
        to[kept] = '\0';
    }
    return length;
}

/* Appends `from`, cut so that `to` has `room` bytes with the NUL. Returns the length of both. */
static inline size_t strlcat(char *to, const char *from, size_t room) {
    const size_t length = strnlen(to, room);
    return length + strlcpy(to + length, from, room - length);
}

#endif

#endif
