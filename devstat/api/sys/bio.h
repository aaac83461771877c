/*
 * struct bio, as much of it as device statistics look at: FreeBSD's names and values, after
 * g_bio(9). Not its layout: drivers are compiled against it, no file and no socket carries it.
 */
#ifndef _SYS_BIO_H
#define _SYS_BIO_H

#include <stdint.h>
#include <sys/devicestat.h>
#include <sys/types.h>

/* bio_cmd */
#define BIO_READ 0x01
#define BIO_WRITE 0x02
#define BIO_DELETE 0x03
#define BIO_GETATTR 0x04
#define BIO_FLUSH 0x05
#define BIO_CMD0 0x06
#define BIO_CMD1 0x07
#define BIO_CMD2 0x08
#define BIO_ZONE 0x09
#define BIO_SPEEDUP 0x0a

/* bio_flags */
#define BIO_ERROR 0x01
#define BIO_DONE 0x02
#define BIO_ONQUEUE 0x04
#define BIO_ORDERED 0x08

#define DISK_ZONE_REPORT_ZONES 0x04 /* zone_cmd: the one that reads data */

struct disk_zone_args {
    uint8_t zone_cmd;
};

struct bio {
    uint16_t bio_cmd;
    uint16_t bio_flags;
    int bio_error;
    off_t bio_offset; /* bytes from the start of the device */
    long bio_bcount;  /* bytes asked */
    long bio_resid;   /* bytes not moved */
    void *bio_data;
    struct bintime bio_t0; /* when it began */
    struct disk_zone_args bio_zone;
    void *bio_driver1;
    void *bio_driver2;
    void (*bio_done)(struct bio *);
};

#endif
