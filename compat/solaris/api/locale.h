/*
 * An addition to Linux' own <locale.h>: gettext(), textdomain() and their sisters. On Solaris a
 * program that includes this header has them. Here <libintl.h> declares them.
 */
#ifndef _BLKSCOPE_SOLARIS_LOCALE_H
#define _BLKSCOPE_SOLARIS_LOCALE_H

#pragma GCC system_header /* for include_next */

#include <libintl.h>
#include_next <locale.h>

#endif
