/* Below the C library's own <termios.h>: FreeBSD's has struct winsize and ioctl besides. */
#ifndef _BLKSCOPE_FREEBSD_TERMIOS_H
#define _BLKSCOPE_FREEBSD_TERMIOS_H

#pragma GCC system_header /* for include_next */

#include_next <termios.h>

#include <sys/ioctl.h>

#endif
