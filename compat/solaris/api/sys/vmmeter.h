/*
 * The data of the RAW kstat unix:0:flushmeter: flushes of a cache of virtual addresses. No
 * processor of today has such a cache, so the kstat does not exist.
 *
 * Units: events since boot, 32 bits, which wrap.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_VMMETER_H
#define _BLKSCOPE_SOLARIS_SYS_VMMETER_H

struct flushmeter {
    /* of a context, a segment, a page, a part of a page, the user's part, a region */
    unsigned f_ctx, f_segment, f_page, f_partial, f_usr, f_region;
};

#endif
