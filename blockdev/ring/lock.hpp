// Lock: what the workers of one device take turns by.
//
// It is held for as long as a batch of requests takes to be counted, some microseconds; longer only
// while a partition table is read that somebody has written. Whoever meets it held turns a few
// times on the spot before he sleeps.
//
// Threads: any; released by the one that took it.
// Errors:  none.
// Source:  pthread_mutexattr_settype(3), PTHREAD_MUTEX_ADAPTIVE_NP.
#pragma once

#include <pthread.h>

namespace blkscope {

class Lock {
  public:
    Lock() = default;
    ~Lock() { pthread_mutex_destroy(&mutex_); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

    void lock() { pthread_mutex_lock(&mutex_); }
    void unlock() { pthread_mutex_unlock(&mutex_); }

  private:
    pthread_mutex_t mutex_ = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
};

}  // namespace blkscope
