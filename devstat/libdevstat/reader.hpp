// Reader: the entries of every provider of the machine, in the order of FreeBSD's list.
//
//     update()   which entries there are. Each new one is read once, for its priority
//     read()     what they count
//
// There is no kernel to number the devices of all providers, so the reader does, and its numbers
// are good for as long as it lives: an entry gets the next device_number when it is first seen,
// those seen together in the order of their creation. The generation is 1 at the first look, and
// grows by one with each look at which the entries are others, those without a name included.
//
// A provider that does not answer keeps its entries, with the counters that were read last, until
// its process is gone.
//
// Ownership: owns the kstat handle.
// Threads:   one at a time.
// Errors:    the constructor and update() throw std::system_error.
#pragma once

#include <kstat.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "devstat/entries/entry.hpp"

namespace blkscope::devstat {

class Reader {
  public:
    struct Known {
        kid_t kid;
        kstat_t* kstat;
        std::string name;  // nbd0; without one, what its kstat is called after
        Devstat entry;     // as read last, with the reader's device_number

        [[nodiscard]] bool anonymous() const { return entry.unit_number == -1; }
    };

    Reader();

    void update();

    /// Reads the counters of all. False: the entries have changed meanwhile, and update() was
    /// called.
    [[nodiscard]] bool read();

    [[nodiscard]] long generation() const { return generation_; }

    /// The highest priority first, among equals the lowest number; behind them, those without a
    /// name.
    [[nodiscard]] const std::vector<Known>& entries() const { return entries_; }

    /// How many of them have a name.
    [[nodiscard]] int devices() const;

    /// DEVSTAT_VERSION, unless a provider has another: those entries are left out.
    [[nodiscard]] int version() const;

    /// In a child of fork(): a handle of its own, with the numbers going on.
    void reopen();

  private:
    struct Close {
        void operator()(kstat_ctl_t* kc) const { kstat_close(kc); }
    };

    enum class Outcome { read, foreign, unreadable };

    bool drop_gone(const std::map<kid_t, kstat_t*>& present);
    bool add_new(const std::map<kid_t, kstat_t*>& present);
    Outcome take(Known& known);

    std::unique_ptr<kstat_ctl_t, Close> kc_;
    std::vector<Known> entries_;
    std::map<kid_t, int> foreign_;  // left out, and their version
    bool moved_on_ = false;         // a read showed that the chain is another
    long generation_ = 0;
    uint32_t next_number_ = 0;
    bool some_unread_ = false;
};

}  // namespace blkscope::devstat
