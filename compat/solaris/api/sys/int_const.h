/* A part of <stdint.h> or <inttypes.h> under the name that older programs for Solaris include. */
#ifndef _BLKSCOPE_SOLARIS_SYS_INT_CONST_H
#define _BLKSCOPE_SOLARIS_SYS_INT_CONST_H

#include <inttypes.h>

#endif
