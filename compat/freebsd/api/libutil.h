/*
 * libutil, the part that monitors use: numbers for people. Names and values are FreeBSD's, after
 * humanize_number(3) and expand_number(3). Link -lkvm; -lutil is accepted, too.
 *
 * Threads: any.
 */
#ifndef _BLKSCOPE_FREEBSD_LIBUTIL_H
#define _BLKSCOPE_FREEBSD_LIBUTIL_H

#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* flags */
#define HN_DECIMAL 0x01      /* a digit behind the point, where the number has one before it */
#define HN_NOSPACE 0x02      /* none before the prefix */
#define HN_B 0x04            /* B where there is no prefix */
#define HN_DIVISOR_1000 0x08 /* not 1024 */
#define HN_IEC_PREFIXES 0x10 /* Ki, Mi, ..., and not k, M, ...: divides by 1024 */

/* scale, other than how often to divide */
#define HN_GETSCALE 0x10  /* the result is how often one would divide; nothing is written */
#define HN_AUTOSCALE 0x20 /* as often as it takes to fit */

/*
 * Writes `number`, a space, a prefix and `suffix` to at most `size` bytes. The length of the text,
 * or -1: no room, or flags that contradict each other.
 */
int humanize_number(char *buffer, size_t size, int64_t number, const char *suffix, int scale,
                    int flags);

/* The number in "10", "10k", "10KB", "10M", ..., by 1024. 0, or -1 with EINVAL or ERANGE. */
int expand_number(const char *text, uint64_t *number);

#ifdef __cplusplus
}
#endif

#endif
