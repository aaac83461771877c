/* An addition to the C library's own <sys/types.h>: types of FreeBSD. */
#ifndef _BLKSCOPE_FREEBSD_SYS_TYPES_H
#define _BLKSCOPE_FREEBSD_SYS_TYPES_H

#pragma GCC system_header /* for include_next */

#include <stdint.h>
#include_next <sys/types.h>

typedef uint32_t fixpt_t;   /* the unit of vm.loadavg, whose fscale is the number 1 */
typedef int64_t sbintime_t; /* 2^-32 s; see <sys/time.h> */
typedef int32_t lwpid_t;    /* the number of a thread */
typedef uintptr_t vm_offset_t;
typedef uintptr_t vm_size_t; /* bytes */

#endif
