/* An addition to Linux' own <strings.h>: on Solaris the header brings <string.h> with it. */
#ifndef _BLKSCOPE_SOLARIS_STRINGS_H
#define _BLKSCOPE_SOLARIS_STRINGS_H

#pragma GCC system_header /* for include_next */

#include <string.h>
#include_next <strings.h>
#include <sys/types.h>

#endif
