/*
 * kcondvar_t: the condition variable of the Solaris DDI over a pthread one, for use with kmutex_t.
 *
 * Threads: any.
 * Errors:  a wait without the mutex locked is the caller's bug, and aborts.
 * Source:  condvar(9F).
 */
#ifndef _SYS_CONDVAR_H
#define _SYS_CONDVAR_H

#include <pthread.h>
#include <sys/mutex.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Accepted for source compatibility; both behave the same. */
typedef enum { CV_DEFAULT = 0, CV_DRIVER = 1 } kcv_type_t;

/* Memory of the caller, between cv_init and cv_destroy. */
typedef struct kcondvar {
    pthread_cond_t cv_cond;
} kcondvar_t;

/* Prepares a condition variable. name, type and arg are those of the DDI, and are not used. */
void cv_init(kcondvar_t *cvp, const char *name, kcv_type_t type, void *arg);
/* Ends the use of the memory. No thread may be waiting. */
void cv_destroy(kcondvar_t *cvp);
/*
 * Unlocks mp, sleeps until a signal, and locks mp again. The call may return without a signal, so
 * the caller tests its condition in a loop.
 */
void cv_wait(kcondvar_t *cvp, kmutex_t *mp);
/* Wakes one waiting thread, or all waiting threads. */
void cv_signal(kcondvar_t *cvp);
void cv_broadcast(kcondvar_t *cvp);

#ifdef __cplusplus
}
#endif

#endif
