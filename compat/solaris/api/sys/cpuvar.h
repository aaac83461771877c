/* Older programs include this header for cpu_stat_t. */
#ifndef _BLKSCOPE_SOLARIS_SYS_CPUVAR_H
#define _BLKSCOPE_SOLARIS_SYS_CPUVAR_H

#include <sys/sysinfo.h>

#endif
