/* __FreeBSD_version, for programs that include this header alone: see <sys/param.h>. */
#ifndef _BLKSCOPE_FREEBSD_OSRELDATE_H
#define _BLKSCOPE_FREEBSD_OSRELDATE_H

#include <sys/param.h>

#endif
