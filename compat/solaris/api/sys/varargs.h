/* The variable arguments of a function, as Solaris' drivers include them. */
#ifndef _BLKSCOPE_SOLARIS_SYS_VARARGS_H
#define _BLKSCOPE_SOLARIS_SYS_VARARGS_H

#include <stdarg.h>

#endif
