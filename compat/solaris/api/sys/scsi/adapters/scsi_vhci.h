/*
 * The call with which Solaris' monitors ask for the name of a path's target. There is no such device here:
 * the open(2) before the call fails, and a monitor shows the number instead.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_SCSI_ADAPTERS_SCSI_VHCI_H
#define _BLKSCOPE_SOLARIS_SYS_SCSI_ADAPTERS_SCSI_VHCI_H

#include <sys/param.h>
#include <sys/types.h>

#define SCSI_VHCI_GET_TARGET_LONGNAME (('x' << 8) | 0x0f)

typedef struct sv_iocdata {
    char *addr;        /* the caller's room for the name, of MAXNAMELEN bytes */
    unsigned buf_elem; /* the number of the path */
} sv_iocdata_t;

#endif
