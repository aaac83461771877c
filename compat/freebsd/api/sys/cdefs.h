/*
 * An addition to the C library's own <sys/cdefs.h>: the macros that FreeBSD's programs use in their
 * declarations. Every header of the C library includes this one, as on FreeBSD.
 *
 * __used is left out, because <spawn.h> of the C library has a member of that name. A few headers
 * of Linux, such as <linux/icmp.h>, have a member __unused. Programs for FreeBSD do not include
 * them.
 */
#ifndef _BLKSCOPE_FREEBSD_SYS_CDEFS_H
#define _BLKSCOPE_FREEBSD_SYS_CDEFS_H

#pragma GCC system_header /* for include_next */

#include_next <sys/cdefs.h>

/* The version of a file: nothing is stored, and a semicolon may follow. */
#define __IDSTRING(name, string) struct __blkscope_no_id
#define __FBSDID(s) __IDSTRING(, s)
#define __RCSID(s) __IDSTRING(, s)
#define __RCSID_SOURCE(s) __IDSTRING(, s)
#define __SCCSID(s) __IDSTRING(, s)
#define __COPYRIGHT(s) __IDSTRING(, s)

/* Attributes of functions, variables and types. */
#define __unused __attribute__((__unused__))                       /* no warning if it is unused */
#define __dead2 __attribute__((__noreturn__))                      /* does not return */
#define __pure2 __attribute__((__const__))                         /* reads its arguments only */
#define __packed __attribute__((__packed__))                       /* no padding */
#define __aligned(bytes) __attribute__((__aligned__(bytes)))       /* at least this alignment */
#define __section(name) __attribute__((__section__(name)))         /* in this section */
#define __noinline __attribute__((__noinline__))                   /* always called */
#define __malloc_like __attribute__((__malloc__))                  /* returns new memory */
#define __result_use_check __attribute__((__warn_unused_result__)) /* the result must be used */
#define __null_sentinel __attribute__((__sentinel__))              /* the last argument is NULL */

/* The number of the argument with the format, and of the first argument that is formatted. */
#define __printflike(format, first) __attribute__((__format__(__printf__, format, first)))
#define __printf0like(format, first) __printflike(format, first)
#define __scanflike(format, first) __attribute__((__format__(__scanf__, format, first)))
#define __strftimelike(format, first) __attribute__((__format__(__strftime__, format, first)))
#define __format_arg(format) __attribute__((__format_arg__(format)))

/* The likely result of a condition, for the compiler. */
#define __predict_true(condition) __builtin_expect((condition), 1)
#define __predict_false(condition) __builtin_expect((condition), 0)

/* The offset of a member in bytes, and the struct around a member. */
#define __offsetof(type, field) __builtin_offsetof(type, field)
#define __containerof(at, type, field) \
    ((type *)(void *)((char *)(__UINTPTR_TYPE__)(at)-__offsetof(type, field)))

/* Removes const or volatile from a pointer, without a warning of the compiler. */
#define __DECONST(type, pointer) ((type)(__UINTPTR_TYPE__)(const void *)(pointer))
#define __DEVOLATILE(type, pointer) ((type)(__UINTPTR_TYPE__)(volatile void *)(pointer))
#define __DEQUALIFY(type, pointer) ((type)(__UINTPTR_TYPE__)(const volatile void *)(pointer))

#define __XSTRING(s) __STRING(s)

#endif
