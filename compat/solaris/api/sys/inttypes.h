/*
 * The integers of a fixed width and their formats.
 * Solaris' programs include this header. Here <inttypes.h> has the names.
 *
 * Source: <sys/inttypes.h> of Solaris, for the name of the header.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_INTTYPES_H
#define _BLKSCOPE_SOLARIS_SYS_INTTYPES_H

#include <inttypes.h>

#endif
