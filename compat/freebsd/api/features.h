/*
 * A header before the C library's own <features.h>, which every header of the C library includes.
 * Programs for FreeBSD see all functions without a feature test macro, asprintf() for example.
 */
#ifndef _BLKSCOPE_FREEBSD_FEATURES_H
#define _BLKSCOPE_FREEBSD_FEATURES_H

#pragma GCC system_header /* for include_next */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include_next <features.h>

#endif
