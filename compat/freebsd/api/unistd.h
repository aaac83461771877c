/*
 * An addition to the C library's own <unistd.h>: FreeBSD's getopt. This getopt stops at the first
 * word that is no option. A program sets optreset to begin again at optind. optarg, optind, opterr
 * and optopt are the C library's. So is getopt_long, which ignores optreset. Link -lkvm.
 *
 * Threads: one at a time.
 * Source:  getopt(3).
 */
#ifndef _BLKSCOPE_FREEBSD_UNISTD_H
#define _BLKSCOPE_FREEBSD_UNISTD_H

#pragma GCC system_header /* for include_next */

#include_next <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 1: the next call of getopt begins again at optind, and sets this to 0. */
extern int optreset;

/*
 * The next option's letter; -1 at the end; '?' for an unknown option. A missing argument is '?' too,
 * but ':' if `options` begins with a colon. Programs call the function getopt.
 */
int freebsd_getopt(int argc, char *const argv[], const char *options);
#define getopt freebsd_getopt

/* __FreeBSD_version of <sys/param.h>. */
int getosreldate(void);

#ifdef __cplusplus
}
#endif

#endif
