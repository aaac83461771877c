/*
 * The type of a processor's number, and the texts of its state. The record `state` of the kstat
 * cpu_info:N:cpu_infoN has one of these texts.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_PROCESSOR_H
#define _BLKSCOPE_SOLARIS_SYS_PROCESSOR_H

#include <sys/types.h>

#define PS_OFFLINE "off-line"     /* runs no threads */
#define PS_ONLINE "on-line"       /* runs threads and takes interrupts */
#define PS_FAULTED "faulted"      /* switched off after an error */
#define PS_POWEROFF "powered-off" /* without power */
#define PS_NOINTR "no-intr"       /* runs threads and takes no interrupts */
#define PS_SPARE "spare"          /* kept for the failure of another */

#endif
