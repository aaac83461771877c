/* Below the C library's own <sys/types.h>: the names that FreeBSD's has besides. */
#ifndef _BLKSCOPE_FREEBSD_SYS_TYPES_H
#define _BLKSCOPE_FREEBSD_SYS_TYPES_H

#pragma GCC system_header /* for include_next */

#include <stdint.h>
#include_next <sys/types.h>

typedef uint32_t fixpt_t;   /* what vm.loadavg is in; its fscale is one */
typedef int64_t sbintime_t; /* 2^-32 s; see <sys/time.h> */
typedef int32_t lwpid_t;
typedef uintptr_t vm_offset_t;
typedef uintptr_t vm_size_t; /* bytes */

#endif
