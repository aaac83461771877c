/* What a Solaris driver includes for its locks: mutex(9F) and condvar(9F). There are no others here. */
#ifndef _SYS_KSYNCH_H
#define _SYS_KSYNCH_H

#include <sys/condvar.h>
#include <sys/mutex.h>

#endif
