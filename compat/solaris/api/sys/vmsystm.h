/*
 * Monitors for Solaris include this header beside <sys/vmmeter.h>. On Solaris, the rest of this header
 * is variables of the kernel, which a program cannot read by name.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_VMSYSTM_H
#define _BLKSCOPE_SOLARIS_SYS_VMSYSTM_H

#include <sys/proc.h>
#include <sys/types.h>
#include <sys/vmmeter.h>

#endif
