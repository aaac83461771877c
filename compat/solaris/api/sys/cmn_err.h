/*
 * Messages of drivers, on standard error. A message's first letter may be '!', '^' or '?', which says
 * where Solaris' kernel prints the rest. The letter is not printed here.
 *
 *     cmn_err(CE_WARN, "!disk %d: no answer for %d s", instance, seconds);
 *
 * prints "WARNING: disk 3: no answer for 30 s" and a newline. The compiler compares the format with
 * the values, as for printf(3).
 *
 * Threads: any. The parts of a line may be mixed with another thread's line.
 * Source:  cmn_err(9F).
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_CMN_ERR_H
#define _BLKSCOPE_SOLARIS_SYS_CMN_ERR_H

#pragma GCC system_header /* a format that is no literal */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/dditypes.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How serious a message is. */
#define CE_CONT 0   /* the text alone, without a newline of its own */
#define CE_NOTE 1   /* "NOTICE: " in front, a newline behind */
#define CE_WARN 2   /* "WARNING: " in front, a newline behind */
#define CE_PANIC 3  /* "panic: " in front, a newline behind, and the process aborts */
#define CE_IGNORE 4 /* prints nothing */

/* Prints a message of this level. A level that is none of these prints nothing. */
__attribute__((__format__(__printf__, 2, 0))) static __inline__ void vcmn_err(int level,
                                                                              const char *format,
                                                                              va_list values) {
    static const char *const levels[] = {"", "NOTICE: ", "WARNING: ", "panic: "};
    if (level < CE_CONT || level > CE_PANIC) return;
    if (*format == '!' || *format == '^' || *format == '?') ++format;
    fputs(levels[level], stderr);
    vfprintf(stderr, format, values);
    if (level != CE_CONT) fputc('\n', stderr);
    if (level == CE_PANIC) abort();
}

/* The same with the values as arguments. */
__attribute__((__format__(__printf__, 2, 3))) static __inline__ void cmn_err(int level,
                                                                             const char *format,
                                                                             ...) {
    va_list values;
    va_start(values, format);
    vcmn_err(level, format, values);
    va_end(values);
}

#ifdef __cplusplus
}
#endif

#endif
