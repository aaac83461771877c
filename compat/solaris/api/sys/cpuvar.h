/* Older programs include this header for cpu_stat_t. */
#ifndef _BLKSCOPE_SOLARIS_SYS_CPUVAR_H
#define _BLKSCOPE_SOLARIS_SYS_CPUVAR_H

#include <sys/file.h>
#include <sys/ksynch.h>
#include <sys/loadavg.h>
#include <sys/processor.h>
#include <sys/sysinfo.h>

#endif
