/*
 * The data of the kstat nbd:N:nbdN,geometry (KSTAT_TYPE_RAW, class misc): what clients of the
 * device are told when they negotiate, and how deep it is.
 *
 *     struct blkscope_geometry geometry;
 *     kstat_read(kc, kstat_lookup(kc, "nbd", 0, "nbd0,geometry"), NULL);
 *     memcpy(&geometry, ksp->ks_data, sizeof geometry);       (if ks_data_size is no less)
 *
 * Later versions only add fields at the end: a reader that knows this one checks `version >= 1` and
 * that the data is not shorter than what it knows. Bytes and host byte order throughout. It does
 * not change while the device is served.
 *
 * Source: the NBD protocol document, NBD_INFO_EXPORT and NBD_INFO_BLOCK_SIZE.
 */
#ifndef _BLKSCOPE_GEOMETRY_H
#define _BLKSCOPE_GEOMETRY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BLKSCOPE_GEOMETRY_VERSION 1

/* flags: bits of blkscope_geometry.transmission_flags, as NBD numbers them */
#define BLKSCOPE_GEOMETRY_READ_ONLY 0x0002
#define BLKSCOPE_GEOMETRY_FLUSH 0x0004
#define BLKSCOPE_GEOMETRY_FUA 0x0008
#define BLKSCOPE_GEOMETRY_ROTATIONAL 0x0010
#define BLKSCOPE_GEOMETRY_TRIM 0x0020
#define BLKSCOPE_GEOMETRY_WRITE_ZEROES 0x0040
#define BLKSCOPE_GEOMETRY_MULTI_CONN 0x0100
#define BLKSCOPE_GEOMETRY_CACHE 0x0400
#define BLKSCOPE_GEOMETRY_FAST_ZERO 0x0800

typedef struct blkscope_geometry {
    uint32_t version;               /* BLKSCOPE_GEOMETRY_VERSION */
    uint32_t transmission_flags;    /* all that every client gets, named above or not */
    uint64_t size_bytes;            /* of the device */
    uint32_t sector_bytes;          /* 512, or the minimum block if that is larger */
    uint32_t block_bytes_min;       /* what offsets and lengths must be multiples of */
    uint32_t block_bytes_preferred; /* what suits it best */
    uint32_t block_bytes_max;       /* the most data that one request should have */
    uint32_t queue_depth;           /* requests that are with the backing at a time */
    uint32_t reserved;              /* 0 */
} blkscope_geometry_t;

#ifdef __cplusplus
}
#endif

#endif
