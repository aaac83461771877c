// The provider's lock of a kstat's data: ks_lock of a kstat_t, ks2_lock of a kstat2_t.
#pragma once

#include <sys/mutex.h>

namespace blkscope::kstat {

/// True if the calling thread has locked `lock`, a kmutex_t. False for a null pointer.
inline bool data_lock_is_held(const void* lock) {
    return lock != nullptr && mutex_owned(static_cast<const kmutex_t*>(lock)) != 0;
}

/// Locks a kmutex_t for a scope, if there is one and the thread has not locked it yet.
class [[nodiscard]] DataLock {
  public:
    explicit DataLock(void* lock) {
        if (lock == nullptr || data_lock_is_held(lock)) return;
        mutex_ = static_cast<kmutex_t*>(lock);
        mutex_enter(mutex_);
    }
    ~DataLock() {
        if (mutex_ != nullptr) mutex_exit(mutex_);
    }
    DataLock& operator=(DataLock&&) = delete;

  private:
    kmutex_t* mutex_ = nullptr;
};

}  // namespace blkscope::kstat
