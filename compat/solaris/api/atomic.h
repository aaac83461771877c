/* atomic_ops(3C), as Solaris' programs include them. */
#ifndef _BLKSCOPE_SOLARIS_ATOMIC_H
#define _BLKSCOPE_SOLARIS_ATOMIC_H

#include <sys/atomic.h>

#endif
