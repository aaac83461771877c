/* struct nlist, for programs that include this header alone. <kvm.h> declares the struct. */
#ifndef _BLKSCOPE_SOLARIS_NLIST_H
#define _BLKSCOPE_SOLARIS_NLIST_H

#include <kvm.h>

#endif
