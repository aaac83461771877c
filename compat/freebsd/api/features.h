/*
 * In front of the C library's own <features.h>, which each of its headers begins with: programs for
 * FreeBSD see all there is without asking, asprintf() and the like included.
 */
#ifndef _BLKSCOPE_FREEBSD_FEATURES_H
#define _BLKSCOPE_FREEBSD_FEATURES_H

#pragma GCC system_header /* for include_next */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include_next <features.h>

#endif
