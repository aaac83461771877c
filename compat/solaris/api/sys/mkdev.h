/*
 * The parts of a device's number: major(), minor() and makedev(). <sys/sysmacros.h> has them here.
 *
 * Source: makedev(3C).
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_MKDEV_H
#define _BLKSCOPE_SOLARIS_SYS_MKDEV_H

#include <sys/sysmacros.h>
#include <sys/types.h>

#ifndef NODEV
#define NODEV ((dev_t)-1) /* no device */
#endif

#endif
