/*
 * The locks of a Solaris driver: mutex(9F) and condvar(9F). Solaris' header of this name also has
 * reader/writer locks and semaphores, which this one does not have.
 */
#ifndef _SYS_KSYNCH_H
#define _SYS_KSYNCH_H

#include <sys/condvar.h>
#include <sys/mutex.h>

#endif
