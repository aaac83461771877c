/* Older programs include this header for CPUSTATES. */
#ifndef _BLKSCOPE_FREEBSD_SYS_DKSTAT_H
#define _BLKSCOPE_FREEBSD_SYS_DKSTAT_H

#include <sys/resource.h>

#endif
