/*
 * The number of partitions in Solaris' label of a disk. Monitors include this header for the bound of a loop
 * over partitions. A disk of Linux has another label, and any number of them.
 *
 * Source: the name and the number are those of Solaris' <sys/dklabel.h>, for 16 slices.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_DKLABEL_H
#define _BLKSCOPE_SOLARIS_SYS_DKLABEL_H

#include <sys/types.h>

#define NDKMAP 16

#endif
