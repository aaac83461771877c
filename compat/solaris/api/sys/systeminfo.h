/*
 * The commands of Solaris' sysinfo(2), which Linux does not have: uname(2) has most of the texts.
 * Monitors such as iostat include this header and do not call the function.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_SYSTEMINFO_H
#define _BLKSCOPE_SOLARIS_SYS_SYSTEMINFO_H

#define SI_SYSNAME 1      /* the name of the system */
#define SI_HOSTNAME 2     /* the name of this machine */
#define SI_RELEASE 3      /* the release of the system */
#define SI_VERSION 4      /* the version of that release */
#define SI_MACHINE 5      /* the kind of machine */
#define SI_ARCHITECTURE 6 /* the instruction set */

#endif
