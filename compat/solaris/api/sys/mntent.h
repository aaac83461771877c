/*
 * Types of file systems and options of mounts, as Solaris' monitors name them. Linux has others in
 * /proc/self/mountinfo, too.
 *
 * Source: the names are those of Solaris' <sys/mntent.h>.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_MNTENT_H
#define _BLKSCOPE_SOLARIS_SYS_MNTENT_H

#define MNTTYPE_ZFS "zfs"       /* ZFS */
#define MNTTYPE_UFS "ufs"       /* the file system of old disks; Linux can read it */
#define MNTTYPE_SMBFS "smbfs"   /* a Windows server's; Linux says cifs */
#define MNTTYPE_NFS "nfs"       /* NFS, version 2 or 3 */
#define MNTTYPE_NFS3 "nfs3"     /* NFS, version 3; Linux says nfs */
#define MNTTYPE_NFS4 "nfs4"     /* NFS, version 4 */
#define MNTTYPE_PCFS "pcfs"     /* of a PC; Linux says vfat */
#define MNTTYPE_LOFS "lofs"     /* a folder mounted again; Linux says the type of the folder */
#define MNTTYPE_HSFS "hsfs"     /* of a compact disc; Linux says iso9660 */
#define MNTTYPE_SWAP "swap"     /* swap; no mount on Linux */
#define MNTTYPE_TMPFS "tmpfs"   /* in memory */
#define MNTTYPE_AUTOFS "autofs" /* mounted on first use */
#define MNTTYPE_MNTFS "mntfs"   /* the table of mounts; /proc on Linux */
#define MNTTYPE_DEV "dev"       /* of devices; Linux says devtmpfs */

#define MNTOPT_RO "ro"           /* read only */
#define MNTOPT_RW "rw"           /* read and write */
#define MNTOPT_SUID "suid"       /* programs may change the user; no option on Linux */
#define MNTOPT_NOSUID "nosuid"   /* programs may not change the user */
#define MNTOPT_EXEC "exec"       /* programs run; no option on Linux */
#define MNTOPT_NOEXEC "noexec"   /* programs do not run */
#define MNTOPT_ATIME "atime"     /* the time of a read is kept; no option on Linux */
#define MNTOPT_NOATIME "noatime" /* the time of a read is not kept */
#define MNTOPT_IGNORE "ignore"   /* not to be shown by df(8); no option on Linux */

#endif
