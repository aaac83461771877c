/*
 * blkscope_geometry: the data of the kstat nbd:N:nbdN,geometry (KSTAT_TYPE_RAW, class misc).
 *
 * The structure repeats the sizes and flags that clients get in the handshake, and adds the queue
 * depth.
 *
 *     struct blkscope_geometry geometry;
 *     kstat_read(kc, kstat_lookup(kc, "nbd", 0, "nbd0,geometry"), NULL);
 *     memcpy(&geometry, ksp->ks_data, sizeof geometry);       (if ks_data_size is no less)
 *
 * Later versions only add fields at the end. A reader checks `version >= 1` and that the data is no
 * shorter than the fields it reads.
 *
 * Units:     bytes, in host byte order.
 * Ownership: the kstat's data belongs to the kstat chain; copy it, as above.
 * Threads:   as kstat_read(3KSTAT). The values are constant while the device is served.
 * Errors:    none in the data; kstat_lookup() returns NULL without such a device.
 * Source:    the NBD protocol document, NBD_INFO_EXPORT and NBD_INFO_BLOCK_SIZE.
 */
#ifndef _BLKSCOPE_GEOMETRY_H
#define _BLKSCOPE_GEOMETRY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BLKSCOPE_GEOMETRY_VERSION 1

/* Bits of blkscope_geometry.transmission_flags. The numbers are NBD's. */
#define BLKSCOPE_GEOMETRY_READ_ONLY 0x0002
#define BLKSCOPE_GEOMETRY_FLUSH 0x0004
#define BLKSCOPE_GEOMETRY_FUA 0x0008
#define BLKSCOPE_GEOMETRY_ROTATIONAL 0x0010
#define BLKSCOPE_GEOMETRY_TRIM 0x0020
#define BLKSCOPE_GEOMETRY_WRITE_ZEROES 0x0040
#define BLKSCOPE_GEOMETRY_MULTI_CONN 0x0100
#define BLKSCOPE_GEOMETRY_CACHE 0x0400
#define BLKSCOPE_GEOMETRY_FAST_ZERO 0x0800

/* The data. Fields are in this order in memory, without padding. */
typedef struct blkscope_geometry {
    uint32_t version;               /* BLKSCOPE_GEOMETRY_VERSION */
    uint32_t transmission_flags;    /* all bits that every client gets, named above or not */
    uint64_t size_bytes;            /* of the device */
    uint32_t sector_bytes;          /* 512, or block_bytes_min if larger */
    uint32_t block_bytes_min;       /* offsets and lengths are multiples of this */
    uint32_t block_bytes_preferred; /* the size that performs best */
    uint32_t block_bytes_max;       /* the limit of data in one request */
    uint32_t queue_depth;           /* the limit of requests in the run queue */
    uint32_t reserved;              /* 0 */
} blkscope_geometry_t;

#ifdef __cplusplus
}
#endif

#endif
