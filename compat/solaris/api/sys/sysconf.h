/*
 * The names of sysconf(3).
 * Solaris' programs include this header. Here <unistd.h> has the names.
 *
 * Source: <sys/sysconf.h> of Solaris, for the name of the header.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_SYSCONF_H
#define _BLKSCOPE_SOLARIS_SYS_SYSCONF_H

#include <unistd.h>

#endif
