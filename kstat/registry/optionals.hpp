// Statistics that are off until somebody wants them: who offers them, and whether they are on.
//
// Turning them on or off runs the provider's callback, one at a time, without a lock held: it
// creates and deletes kstats.
//
// Threads: any.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kstat/wire/model.hpp"

namespace blkscope::kstat2 {

class Optionals {
  public:
    /// Those that the C functions work on. Never destroyed.
    static Optionals& of_this_process();

    /// KSTAT2_OPT_INVALID: see `why`.
    kstat2_opt_id_t add(const char* name, const char* desc, kstat2_opt_cb_t callback, void* arg,
                        std::string& why);

    /// Says how they are where nobody has asked for anything; they are off before it.
    void set_default(kstat2_opt_id_t id, bool on);

    /// Waits for a callback under way. False: no such id.
    bool remove(kstat2_opt_id_t id);

    std::vector<Optional> list() const;

    /// Turns them on or off. Errors: ENOENT no such id; EDEADLK called from a callback; what the
    /// callback returned.
    int set(kstat2_opt_id_t id, bool on);
    /// The same, to what set_default() said.
    int set_as_by_default(kstat2_opt_id_t id);

    void before_fork() { mutex_.lock(); }
    void after_fork_in_parent() { mutex_.unlock(); }
    /// The child offers nothing of its parent's.
    void after_fork_in_child();

  private:
    struct Offer {
        Optional what;
        kstat2_opt_cb_t callback;
        void* arg;
    };

    bool is_mine() const { return changing_ && changer_ == std::this_thread::get_id(); }
    void wait_for_change(std::unique_lock<std::mutex>& lock);
    void end_change();
    std::string fault_of(const char* name, const char* desc, kstat2_opt_cb_t callback) const;

    mutable std::mutex mutex_;
    std::map<kstat2_opt_id_t, Offer> offers_;
    kstat2_opt_id_t last_id_ = 0;
    bool changing_ = false;  // a callback is running, on changer_
    std::thread::id changer_;
    std::atomic<uint32_t> changes_{0};  // counted for waiters, as fork() would break a condition
};

}  // namespace blkscope::kstat2
