/* Below Linux' own <sys/param.h>: what the avenrun records of unix:0:system_misc count in. */
#ifndef _BLKSCOPE_SOLARIS_SYS_PARAM_H
#define _BLKSCOPE_SOLARIS_SYS_PARAM_H

#pragma GCC system_header /* for include_next, and types told twice */

#include_next <sys/param.h>

#define FSHIFT 8
#define FSCALE (1 << FSHIFT)

#endif
