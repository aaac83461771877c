/*
 * The integers of a fixed width.
 * Solaris' programs include this header. Here <stdint.h> has the names.
 *
 * Source: <sys/int_types.h> of Solaris, for the name of the header.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_INT_TYPES_H
#define _BLKSCOPE_SOLARIS_SYS_INT_TYPES_H

#include <stdint.h>

#endif
