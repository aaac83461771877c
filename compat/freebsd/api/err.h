/* Below the C library's own <err.h>: its functions with the error as an argument. Link -lkvm. */
#ifndef _BLKSCOPE_FREEBSD_ERR_H
#define _BLKSCOPE_FREEBSD_ERR_H

#pragma GCC system_header /* for include_next */

#include_next <err.h>
#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

void errc(int status, int error, const char *format, ...) __dead2 __printflike(3, 4);
void verrc(int status, int error, const char *format, va_list arguments) __dead2 __printflike(3, 0);
void warnc(int error, const char *format, ...) __printflike(2, 3);
void vwarnc(int error, const char *format, va_list arguments) __printflike(2, 0);

#ifdef __cplusplus
}
#endif

#endif
