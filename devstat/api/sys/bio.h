/*
 * struct bio, the part of it that device statistics use: FreeBSD's names and values, after
 * g_bio(9). The layout is not FreeBSD's: drivers are compiled against it, and no file and no socket
 * has one.
 *
 * Units:   bytes; bio_t0 is CLOCK_MONOTONIC.
 * Threads: a bio belongs to one thread at a time.
 */
#ifndef _SYS_BIO_H
#define _SYS_BIO_H

#include <stdint.h>
#include <sys/devicestat.h>
#include <sys/types.h>

/* bio_cmd: the request. Statistics count reads, writes and deletes; others are NO_DATA. */
#define BIO_READ 0x01    /* DEVSTAT_READ */
#define BIO_WRITE 0x02   /* DEVSTAT_WRITE */
#define BIO_DELETE 0x03  /* DEVSTAT_FREE */
#define BIO_GETATTR 0x04 /* asks for an attribute of the device */
#define BIO_FLUSH 0x05   /* makes earlier writes durable */
#define BIO_CMD0 0x06
#define BIO_CMD1 0x07
#define BIO_CMD2 0x08
#define BIO_ZONE 0x09
#define BIO_SPEEDUP 0x0a

/* bio_flags: the state of a bio, a set. */
#define BIO_ERROR 0x01 /* bio_error has the reason */
#define BIO_DONE 0x02  /* the request has ended */
#define BIO_ONQUEUE 0x04
#define BIO_ORDERED 0x08

#define DISK_ZONE_REPORT_ZONES 0x04 /* zone_cmd: the only zone command that reads data */

struct disk_zone_args {
    uint8_t zone_cmd;
};

/* One request to a device. */
struct bio {
    uint16_t bio_cmd;      /* BIO_READ to BIO_SPEEDUP */
    uint16_t bio_flags;    /* BIO_ERROR to BIO_ORDERED */
    int bio_error;         /* an errno */
    off_t bio_offset;      /* bytes from the start of the device */
    long bio_bcount;       /* bytes asked */
    long bio_resid;        /* bytes not moved */
    void *bio_data;        /* the memory of the data */
    struct bintime bio_t0; /* the start of the transaction */
    struct disk_zone_args bio_zone;
    void *bio_driver1; /* for the driver */
    void *bio_driver2;
    void (*bio_done)(struct bio *); /* called by the driver at the end */
};

#endif
