/*
 * An addition to the C library's own <err.h>: functions of err(3). These functions take the error
 * as an argument. Link -lkvm.
 *
 * Units:   `error` is an errno, `status` the exit status of the program.
 * Threads: any.
 */
#ifndef _BLKSCOPE_FREEBSD_ERR_H
#define _BLKSCOPE_FREEBSD_ERR_H

#pragma GCC system_header /* for include_next */

#include_next <err.h>
#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Print the program, the text and the error on standard error, and end the program. */
void errc(int status, int error, const char *format, ...) __dead2 __printflike(3, 4);
void verrc(int status, int error, const char *format, va_list arguments) __dead2 __printflike(3, 0);
/* Print the same, and return. */
void warnc(int error, const char *format, ...) __printflike(2, 3);
void vwarnc(int error, const char *format, va_list arguments) __printflike(2, 0);

#ifdef __cplusplus
}
#endif

#endif
