/*
 * kmutex_t, the lock that ks_lock points at: the DDI's mutex over a pthread mutex, so that driver
 * code written for Solaris compiles. After mutex(9F).
 *
 * Threads: any. Errors: entering a mutex twice, or leaving one that another thread holds, is the
 * caller's bug and aborts.
 */
#ifndef _SYS_MUTEX_H
#define _SYS_MUTEX_H

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { MUTEX_ADAPTIVE = 0, MUTEX_SPIN = 1, MUTEX_DRIVER = 4, MUTEX_DEFAULT = 6 } kmutex_type_t;

typedef struct kmutex {
    pthread_mutex_t m_lock;
    pthread_t m_owner; /* the holder, 0 for none; accessed atomically */
} kmutex_t;

/* name, type and arg are accepted as the DDI has them, and not used. */
void mutex_init(kmutex_t *mp, const char *name, kmutex_type_t type, void *arg);
void mutex_destroy(kmutex_t *mp);
void mutex_enter(kmutex_t *mp);
int mutex_tryenter(kmutex_t *mp); /* 1 if it was free and is held now, else 0 */
void mutex_exit(kmutex_t *mp);
int mutex_owned(const kmutex_t *mp); /* 1 if the calling thread holds it */

#define MUTEX_HELD(mp) (mutex_owned(mp))

#ifdef __cplusplus
}
#endif

#endif
