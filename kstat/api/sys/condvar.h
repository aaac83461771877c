/*
 * kcondvar_t: the DDI's condition variable over a pthread one, for use with kmutex_t. After
 * condvar(9F).
 *
 * Threads: any. Errors: waiting without the mutex is the caller's bug and aborts.
 */
#ifndef _SYS_CONDVAR_H
#define _SYS_CONDVAR_H

#include <pthread.h>
#include <sys/mutex.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { CV_DEFAULT = 0, CV_DRIVER = 1 } kcv_type_t;

typedef struct kcondvar {
    pthread_cond_t cv_cond;
} kcondvar_t;

/* name, type and arg are accepted as the DDI has them, and not used. */
void cv_init(kcondvar_t *cvp, const char *name, kcv_type_t type, void *arg);
void cv_destroy(kcondvar_t *cvp);
/* Leaves mp, sleeps, and holds mp again. May wake for no reason: look at the condition again. */
void cv_wait(kcondvar_t *cvp, kmutex_t *mp);
void cv_signal(kcondvar_t *cvp);
void cv_broadcast(kcondvar_t *cvp);

#ifdef __cplusplus
}
#endif

#endif
