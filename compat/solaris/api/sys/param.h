/*
 * An addition to Linux' own <sys/param.h>: the unit of the avenrun records of unix:0:system_misc. A
 * load of 1 is FSCALE.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_PARAM_H
#define _BLKSCOPE_SOLARIS_SYS_PARAM_H

#pragma GCC system_header /* for include_next, and repeated types */

#include_next <sys/param.h>

#define FSHIFT 8
#define FSCALE (1 << FSHIFT)

#endif
