/*
 * The name of the property with which Solaris finds a disk again. Linux' disks have no such property:
 * /dev/disk/by-id has what is like it.
 */
#ifndef _BLKSCOPE_SOLARIS_DEVID_H
#define _BLKSCOPE_SOLARIS_DEVID_H

#include <sys/types.h>

#define DEVID_PROP_NAME "devid"

#endif
