/*
 * The records of unix:0:biostats, the cache of disk blocks. The names and the order are those of
 * Solaris' <sys/buf.h>.
 *
 * Units: events since boot.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_BUF_H
#define _BLKSCOPE_SOLARIS_SYS_BUF_H

#include <sys/kstat.h>

struct biostats {
    /* look-ups and hits; requests for a buffer and waits for one; busy and duplicate buffers */
    kstat_named_t bio_lookup, bio_hit, bio_bufwant, bio_bufwait, bio_bufbusy, bio_bufdup;
};

#endif
