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

#include <cassert>

namespace blkscope {

class Lock {
  public:
    Lock() = default;
    ~Lock() {
        [[maybe_unused]] const int error = pthread_mutex_destroy(&mutex_);
        assert(error == 0);  // EBUSY: the lock is still held
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

    void lock() {
        [[maybe_unused]] const int error = pthread_mutex_lock(&mutex_);
        assert(error == 0);
    }
    void unlock() {
        [[maybe_unused]] const int error = pthread_mutex_unlock(&mutex_);
        assert(error == 0);
    }

  private:
    pthread_mutex_t mutex_ = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
};

}  // namespace blkscope
