// Statistics that are off until a user turns them on: the offers, and the state of each.
//
// Turning statistics on or off runs the provider's callback, which creates and deletes kstats. One
// callback runs at a time, without a lock held.
//
// Threads: any.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "kstat/registry/exclusive.hpp"
#include "kstat/wire/model.hpp"

namespace blkscope::kstat2 {

class Optionals {
  public:
    /// The statistics of the C functions. Never destroyed.
    static Optionals& of_this_process();

    /// KSTAT2_OPT_INVALID: see `why`.
    kstat2_opt_id_t add(const char* name, const char* desc, kstat2_opt_cb_t callback, void* arg,
                        std::string& why);

    /// Sets the state before any user's request. Without this call that state is off.
    void set_default(kstat2_opt_id_t id, bool on);

    /// Waits for a running callback. False: no such id.
    bool remove(kstat2_opt_id_t id);

    std::vector<Optional> list() const;

    /// Turns statistics on or off. Errors: ENOENT no such id; EDEADLK called from a callback; the
    /// callback's result.
    int set(kstat2_opt_id_t id, bool on);
    /// The same, to the state of set_default().
    int set_as_by_default(kstat2_opt_id_t id);

    void before_fork() { mutex_.lock(); }
    void after_fork_in_parent() { mutex_.unlock(); }
    /// The child offers none of its parent's statistics.
    void after_fork_in_child();

  private:
    struct Offer {
        Optional what;
        kstat2_opt_cb_t callback;
        void* arg;
    };

    void wait_for_callback(std::unique_lock<std::mutex>& lock);
    std::string fault_of(const char* name, const char* desc, kstat2_opt_cb_t callback) const;

    mutable std::mutex mutex_;
    std::map<kstat2_opt_id_t, Offer> offers_;
    kstat2_opt_id_t last_id_ = 0;
    kstat::Exclusive callback_;  // the thread that runs one
    kstat::Changes ends_;        // of callbacks
};

}  // namespace blkscope::kstat2
