/* gcc's <stddef.h> includes this empty header where a program defines __FreeBSD__. */
#ifndef _BLKSCOPE_FREEBSD_SYS__TYPES_H
#define _BLKSCOPE_FREEBSD_SYS__TYPES_H
#endif
