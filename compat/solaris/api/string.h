/*
 * An addition to Linux' own <string.h>: strlcpy() and strlcat(), which GNU's C library has from
 * version 2.38 on. `__room` is the size of the destination in bytes. A result of `__room` or more means
 * that the text was cut.
 */
#ifndef _BLKSCOPE_SOLARIS_STRING_H
#define _BLKSCOPE_SOLARIS_STRING_H

#pragma GCC system_header /* for include_next */

#include_next <string.h>

#ifdef __GLIBC__
#if !__GLIBC_PREREQ(2, 38)

#ifdef __cplusplus
extern "C" {
#endif

/* A program may still have such functions of its own: gnu_inline allows a definition beside this one. */
#define BLKSCOPE_INLINE extern __inline__ __attribute__((__gnu_inline__, __always_inline__))

/* Copies `__from`, cut to `__room` bytes with the NUL. Returns the length of `__from`. */
BLKSCOPE_INLINE size_t strlcpy(char *__to, const char *__from, size_t __room) {
    const size_t __length = strlen(__from);
    if (__room > 0) {
        const size_t __kept = __length < __room ? __length : __room - 1;
        memcpy(__to, __from, __kept);
        __to[__kept] = '\0';
    }
    return __length;
}

/* Appends `__from`, cut so that `__to` has `__room` bytes with the NUL. Returns the length of both. */
BLKSCOPE_INLINE size_t strlcat(char *__to, const char *__from, size_t __room) {
    const char *const __end = (const char *)memchr(__to, '\0', __room);
    const size_t __length = __end != NULL ? (size_t)(__end - __to) : __room;
    return __length + strlcpy(__to + __length, __from, __room - __length);
}

#undef BLKSCOPE_INLINE

#ifdef __cplusplus
}
#endif

#endif
#endif

#endif
