/*
 * The number of primary partitions in a PC's partition table.
 *
 * Source: the name is that of Solaris' <sys/dktp/fdisk.h>.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_DKTP_FDISK_H
#define _BLKSCOPE_SOLARIS_SYS_DKTP_FDISK_H

#include <sys/types.h>

#define FD_NUMPART 4

#endif
