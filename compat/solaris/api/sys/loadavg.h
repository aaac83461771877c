/* The index of the array that getloadavg(3) fills in. <stdlib.h> declares the function here. */
#ifndef _BLKSCOPE_SOLARIS_SYS_LOADAVG_H
#define _BLKSCOPE_SOLARIS_SYS_LOADAVG_H

#include <stdlib.h>

#define LOADAVG_1MIN 0   /* the mean over one minute */
#define LOADAVG_5MIN 1   /* over five minutes */
#define LOADAVG_15MIN 2  /* over a quarter of an hour */
#define LOADAVG_NSTATS 3 /* the number of means */

#endif
