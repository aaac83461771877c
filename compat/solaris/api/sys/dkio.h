/*
 * Monitors for Solaris include this header beside <sys/dklabel.h>. A program that asks a disk by Solaris'
 * ioctls does not work here, so there are none.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_DKIO_H
#define _BLKSCOPE_SOLARIS_SYS_DKIO_H

#include <sys/types.h>

#endif
