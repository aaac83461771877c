/* An addition to the C library's own <termios.h>: struct winsize and ioctl, as on FreeBSD. */
#ifndef _BLKSCOPE_FREEBSD_TERMIOS_H
#define _BLKSCOPE_FREEBSD_TERMIOS_H

#pragma GCC system_header /* for include_next */

#include_next <termios.h>

#include <sys/ioctl.h>

#endif
