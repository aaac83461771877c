/*
 * The type of a processor's number, and the texts of its state. The record `state` of the kstat
 * cpu_info:N:cpu_infoN has one of these texts.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_PROCESSOR_H
#define _BLKSCOPE_SOLARIS_SYS_PROCESSOR_H

#include <sys/types.h>

#define PS_OFFLINE "off-line"
#define PS_ONLINE "on-line"
#define PS_FAULTED "faulted"
#define PS_POWEROFF "powered-off"
#define PS_NOINTR "no-intr"
#define PS_SPARE "spare"

#endif
