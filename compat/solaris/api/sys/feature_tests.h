/* Solaris' programs include this header for its system's feature macros. <features.h> has those of Linux. */
#ifndef _BLKSCOPE_SOLARIS_SYS_FEATURE_TESTS_H
#define _BLKSCOPE_SOLARIS_SYS_FEATURE_TESTS_H

#include <features.h>
#include <sys/ccompile.h>

#endif
