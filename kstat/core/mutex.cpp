#include <sys/mutex.h>
#include <unistd.h>

#include <atomic>
#include <kstat/core/report.hpp>

namespace {

using blkscope::kstat::panic;

// A kernel call once per thread, not once per lock. A forked child's only thread has a new id.
int this_thread() {
    thread_local int id = 0;
    thread_local pid_t of_process = 0;
    if (const pid_t process = getpid(); of_process != process) {
        id = gettid();
        of_process = process;
    }
    return id;
}

// Only the holder ever finds its own id here, so a relaxed load is enough.
std::atomic_ref<int> owner(const kmutex_t* mp) {
    return std::atomic_ref<int>(const_cast<int&>(mp->m_owner));
}

void become_owner(kmutex_t* mp) {
    owner(mp).store(this_thread(), std::memory_order_relaxed);
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
    return owner(mp).load(std::memory_order_relaxed) == this_thread() ? 1 : 0;
}

}  // extern "C"
