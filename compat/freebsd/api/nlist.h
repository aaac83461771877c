/* struct nlist, for programs that include it by itself. */
#ifndef _BLKSCOPE_FREEBSD_NLIST_H
#define _BLKSCOPE_FREEBSD_NLIST_H

#include <kvm.h>

#endif
