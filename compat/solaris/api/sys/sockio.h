/*
 * The requests of ioctl(2) for network interfaces, such as SIOCGIFCONF.
 * Solaris' programs include this header. Here <sys/ioctl.h> has the names.
 *
 * Source: <sys/sockio.h> of Solaris, for the name of the header.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_SOCKIO_H
#define _BLKSCOPE_SOLARIS_SYS_SOCKIO_H

#include <sys/ioctl.h>

#endif
