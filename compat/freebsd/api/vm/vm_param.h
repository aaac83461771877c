/* The numbers of sysctl(3) below vm., and struct loadavg, as programs include them on FreeBSD. */
#ifndef _BLKSCOPE_FREEBSD_VM_VM_PARAM_H
#define _BLKSCOPE_FREEBSD_VM_VM_PARAM_H

#include <sys/resource.h>
#include <sys/sysctl.h>

#endif
