/* __FreeBSD_version, for programs that include it by itself. */
#ifndef _BLKSCOPE_FREEBSD_OSRELDATE_H
#define _BLKSCOPE_FREEBSD_OSRELDATE_H

#include <sys/param.h>

#endif
