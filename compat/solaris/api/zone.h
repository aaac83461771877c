/*
 * Zones, of which Linux has one: the global zone, whose number is 0. A container is no zone.
 *
 * A monitor that shows zones therefore shows one line for all processes.
 *
 *     char name[ZONENAME_MAX];
 *     if (getzonenamebyid(getzoneid(), name, sizeof name) == -1) ...
 *
 * Threads: any.
 * Errors:  -1. EINVAL: no such zone.
 * Source:  getzoneid(3C), getzonenamebyid(3C).
 */
#ifndef _BLKSCOPE_SOLARIS_ZONE_H
#define _BLKSCOPE_SOLARIS_ZONE_H

#include <errno.h>
#include <string.h>
#include <sys/param.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ZONENAME_MAX 64          /* bytes of a name, the NUL included */
#define GLOBAL_ZONEID 0          /* the number of the global zone */
#define GLOBAL_ZONENAME "global" /* the name of the same zone */

/* The zone of the caller. */
static __inline__ zoneid_t getzoneid(void) {
    return GLOBAL_ZONEID;
}

/* The number of a zone. A name that is NULL means the zone of the caller. */
static __inline__ zoneid_t getzoneidbyname(const char *name) {
    if (name == NULL || strcmp(name, GLOBAL_ZONENAME) == 0) return GLOBAL_ZONEID;
    errno = EINVAL;
    return -1;
}

/*
 * Copies the name of a zone, cut to `room` bytes. The result is the bytes of the whole name, the NUL
 * included. A name that is cut has no NUL.
 */
static __inline__ ssize_t getzonenamebyid(zoneid_t zone, char *name, size_t room) {
    if (zone != GLOBAL_ZONEID) {
        errno = EINVAL;
        return -1;
    }
    if (name != NULL) {
        memcpy(name, GLOBAL_ZONENAME,
               room < sizeof GLOBAL_ZONENAME ? room : sizeof GLOBAL_ZONENAME);
    }
    return sizeof GLOBAL_ZONENAME;
}

#ifdef __cplusplus
}
#endif

#endif
