/*
 * The data of the RAW kstat unix:0:ncstats: the cache of names in directories. The names and the
 * order are those of Solaris' <sys/dnlc.h>.
 *
 * Units: events since boot, 32 bits, which wrap.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_DNLC_H
#define _BLKSCOPE_SOLARIS_SYS_DNLC_H

struct ncstats {
    int hits, misses, enters, dbl_enters, long_enter, long_look, move_to_front, purges;
};

#endif
