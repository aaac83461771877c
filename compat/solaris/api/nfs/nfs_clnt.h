/*
 * The data of the RAW kstat nfs:N:mntinfo, a mounted file system of NFS. The names and the order are
 * those of Solaris' <nfs/nfs_clnt.h>. Linux' own mounts have no such kstat.
 *
 * Units: milliseconds in mik_timers and mik_timeo, seconds in mik_ac*.
 */
#ifndef _BLKSCOPE_SOLARIS_NFS_NFS_CLNT_H
#define _BLKSCOPE_SOLARIS_NFS_NFS_CLNT_H

#include <nfs/nfs.h>
#include <sys/kstat.h>
#include <sys/types.h>
#include <sys/utsname.h>

struct mntinfo_kstat {
    char mik_proto[128]; /* the protocol, as in "tcp" */
    uint32_t mik_vers;
    uint_t mik_flags, mik_secmod;
    uint32_t mik_curread, mik_curwrite; /* bytes of a transfer */
    int mik_timeo, mik_retrans;         /* when a call is repeated, and how often */
    /* how long attributes of files and directories are kept, at least and at most */
    uint_t mik_acregmin, mik_acregmax, mik_acdirmin, mik_acdirmax;
    struct {
        uint32_t srtt, deviate, rtxcur;
    } /* the mean time of a call, its deviation, and when a call is repeated */
    mik_timers[NFS_CALLTYPES + 1];
    uint32_t mik_noresponse, mik_failover, mik_remap;
    char mik_curserver[257]; /* the server's name */
};

#endif
