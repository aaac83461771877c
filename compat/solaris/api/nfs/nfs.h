/* The number of kinds of calls that an NFS client times: see <nfs/nfs_clnt.h>. */
#ifndef _BLKSCOPE_SOLARIS_NFS_NFS_H
#define _BLKSCOPE_SOLARIS_NFS_NFS_H

#include <sys/param.h>
#include <sys/types.h>
#include <sys/vfs.h>

#define NFS_CALLTYPES 3 /* lookups, reads, writes */

#endif
