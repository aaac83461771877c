#include <sys/ksynch.h>

#include <atomic>

#include "kstat/registry/report.hpp"

namespace {

using blkscope::kstat::panic;

// Only the owner ever finds its own id here, so a relaxed load is enough. gettid() would cost a
// system call. The forking thread may have locked a mutex, and the child must recognise
// its lock, but gettid() differs there.
std::atomic_ref<pthread_t> owner(const kmutex_t* mp) {
    return std::atomic_ref<pthread_t>(const_cast<pthread_t&>(mp->m_owner));
}

void become_owner(kmutex_t* mp) {
    owner(mp).store(pthread_self(), std::memory_order_relaxed);
}

}  // namespace

extern "C" {

void mutex_init(kmutex_t* mp, const char*, kmutex_type_t, void*) {
    pthread_mutex_init(&mp->m_lock, nullptr);
    mp->m_owner = 0;
}

void mutex_destroy(kmutex_t* mp) {
    if (pthread_mutex_destroy(&mp->m_lock) != 0) panic("mutex_destroy: the mutex is held");
}

void mutex_enter(kmutex_t* mp) {
    if (mutex_owned(mp) != 0) panic("mutex_enter: the calling thread holds the mutex already");
    pthread_mutex_lock(&mp->m_lock);
    become_owner(mp);
}

int mutex_tryenter(kmutex_t* mp) {
    if (pthread_mutex_trylock(&mp->m_lock) != 0) return 0;
    become_owner(mp);
    return 1;
}

void mutex_exit(kmutex_t* mp) {
    if (mutex_owned(mp) == 0) panic("mutex_exit: the calling thread does not hold the mutex");
    owner(mp).store(0, std::memory_order_relaxed);
    pthread_mutex_unlock(&mp->m_lock);
}

int mutex_owned(const kmutex_t* mp) {
    return owner(mp).load(std::memory_order_relaxed) == pthread_self() ? 1 : 0;
}

void cv_init(kcondvar_t* cvp, const char*, kcv_type_t, void*) {
    pthread_cond_init(&cvp->cv_cond, nullptr);
}

void cv_destroy(kcondvar_t* cvp) {
    pthread_cond_destroy(&cvp->cv_cond);
}

void cv_wait(kcondvar_t* cvp, kmutex_t* mp) {
    if (mutex_owned(mp) == 0) panic("cv_wait: the calling thread does not hold the mutex");
    owner(mp).store(0, std::memory_order_relaxed);
    pthread_cond_wait(&cvp->cv_cond, &mp->m_lock);
    become_owner(mp);
}

void cv_signal(kcondvar_t* cvp) {
    pthread_cond_signal(&cvp->cv_cond);
}

void cv_broadcast(kcondvar_t* cvp) {
    pthread_cond_broadcast(&cvp->cv_cond);
}

}  // extern "C"
