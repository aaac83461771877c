/*
 * kmutex_t, the type behind ks_lock: the mutex of the Solaris DDI over a pthread mutex. Driver code
 * that was written for Solaris therefore compiles.
 *
 * Threads: any. The thread that locks a mutex unlocks that mutex.
 * Errors:  a second lock by one thread, and an unlock by another thread, are the caller's bugs.
 *          Either one prints one line and aborts.
 * Source:  mutex(9F).
 */
#ifndef _SYS_MUTEX_H
#define _SYS_MUTEX_H

#include <pthread.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Accepted for source compatibility; all behave the same. */
typedef enum {
    MUTEX_ADAPTIVE = 0,
    MUTEX_SPIN = 1,
    MUTEX_DRIVER = 4,
    MUTEX_DEFAULT = 6
} kmutex_type_t;

/* Memory of the caller, between mutex_init and mutex_destroy. */
typedef struct kmutex {
    pthread_mutex_t m_lock;
    pthread_t m_owner; /* the thread that has locked the mutex, else 0; atomic */
} kmutex_t;

/* Prepares a mutex, unlocked. name, type and arg are those of the DDI, and are not used. */
void mutex_init(kmutex_t *mp, const char *name, kmutex_type_t type, void *arg);
/* Ends the use of the memory. A mutex that is locked aborts. */
void mutex_destroy(kmutex_t *mp);
/* Locks; sleeps while another thread has locked the mutex. */
void mutex_enter(kmutex_t *mp);
int mutex_tryenter(kmutex_t *mp); /* locks and returns 1 if unlocked, else returns 0 */
/* Unlocks. */
void mutex_exit(kmutex_t *mp);
int mutex_owned(const kmutex_t *mp); /* 1 if the calling thread has locked the mutex, else 0 */

/* For assertions. */
#define MUTEX_HELD(mp) (mutex_owned(mp))

#ifdef __cplusplus
}
#endif

#endif
