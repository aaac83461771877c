/*
 * The type of a caller's credentials, which entry points of drivers take. No program here has one: the
 * kernel checks who opens a file or a socket.
 *
 * Source: the name is that of Solaris' <sys/cred.h>.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_CRED_H
#define _BLKSCOPE_SOLARIS_SYS_CRED_H

#include <sys/types.h>

typedef struct cred cred_t;

#endif
