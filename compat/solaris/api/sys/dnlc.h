/* The RAW kstat unix:0:ncstats, with the names and the order of Solaris' <sys/dnlc.h>. */
#ifndef _BLKSCOPE_SOLARIS_SYS_DNLC_H
#define _BLKSCOPE_SOLARIS_SYS_DNLC_H

struct ncstats {
    int hits, misses, enters, dbl_enters, long_enter, long_look, move_to_front, purges;
};

#endif
