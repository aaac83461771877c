/*
 * Programs include this header for struct flock and the locks of fcntl(2). <fcntl.h> has both here.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_FLOCK_H
#define _BLKSCOPE_SOLARIS_SYS_FLOCK_H

#include <fcntl.h>
#include <sys/param.h>
#include <sys/types.h>

#endif
