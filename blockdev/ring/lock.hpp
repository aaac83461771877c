// Lock: the mutex of a device, of a stripe or of a table, which several workers share.
//
// A worker locks a device for as long as a batch of requests takes to be counted: some
// microseconds. Reading a partition table that has changed takes longer. A thread that finds the
// lock held spins briefly, then sleeps.
//
// Threads: any; the thread that locked it unlocks it.
// Errors:  none.
// Source:  pthread_mutexattr_settype(3), PTHREAD_MUTEX_ADAPTIVE_NP.
#pragma once

#include <pthread.h>

#include <cassert>

namespace blkscope {

class Lock {
  public:
    ~Lock() {
        [[maybe_unused]] const int error = pthread_mutex_destroy(&mutex_);
        assert(error == 0);  // EBUSY: the lock is still held
    }
    Lock& operator=(Lock&&) = delete;

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
