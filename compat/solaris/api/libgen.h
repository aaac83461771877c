/*
 * An addition to Linux' own <libgen.h>: gmatch(), which matches shell patterns.
 *
 * Source: gmatch(3GEN); the patterns are those of fnmatch(3).
 */
#ifndef _BLKSCOPE_SOLARIS_LIBGEN_H
#define _BLKSCOPE_SOLARIS_LIBGEN_H

#pragma GCC system_header /* for include_next */

#include <fnmatch.h>
#include_next <libgen.h>
#include <stdio.h>
#include <sys/types.h>

/* Whether the pattern describes all of `text`. A slash and a leading dot are ordinary. */
static __inline__ int gmatch(const char *text, const char *pattern) {
    return fnmatch(pattern, text, 0) == 0;
}

#endif
