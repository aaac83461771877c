// Reader: the entries of every provider of the machine, in the order of FreeBSD's list.
//
//     update()   finds the entries; each new one is read once, for its priority
//     read()     reads their counters
//
// No kernel numbers the devices of all providers, so the reader does. Its numbers are valid until
// the reader is destroyed. An entry gets the next device_number when the reader first finds it.
// Entries found together get their numbers in the order of their creation. The generation is 1 at
// the first look. Each look that finds other entries increments it, including entries without a
// name.
//
// A provider that does not answer keeps its entries until its process ends. Their counters are
// those of the last read.
//
// Ownership: owns the kstat handle.
// Threads:   one at a time.
// Errors:    the constructor and update() throw std::system_error.
#pragma once

#include <kstat.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "devstat/entries/entry.hpp"

namespace blkscope::devstat {

/// The entry in the data of a kstat.
struct Decoded {
    int version = 0;               // 0 if the data are too short for a version
    std::optional<Devstat> entry;  // nothing if version or size are those of another build
};

/// The data are those of any process. The name of an entry ends within its field.
[[nodiscard]] Decoded decode(std::span<const std::byte> data);

/// Whether an entry is before another one in the list, apart from their numbers.
[[nodiscard]] bool precedes(const Devstat& one, const Devstat& other);

class Reader {
  public:
    struct Known {
        kid_t kid;
        kstat_t* kstat;
        std::string name;  // nbd0; without one, the name of its kstat
        Devstat entry;     // from the last read, with the reader's device_number

        [[nodiscard]] bool anonymous() const { return entry.unit_number == -1; }
    };

    Reader();

    void update();

    /// Reads the counters of all entries. False: the entries have changed meanwhile, and update()
    /// was called.
    [[nodiscard]] bool read();

    [[nodiscard]] long generation() const { return generation_; }

    /// The highest priority first; among equals, the lowest number first. Entries without a name
    /// are last.
    [[nodiscard]] const std::vector<Known>& entries() const { return entries_; }

    /// The number of entries with a name.
    [[nodiscard]] int devices() const;

    /// DEVSTAT_VERSION, unless a provider has another: the entries of that provider are left out.
    [[nodiscard]] int version() const;

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
    std::map<kid_t, int> foreign_;  // entries left out, and their version
    bool moved_on_ = false;         // a read showed that the chain changed
    long generation_ = 0;
    uint32_t next_number_ = 0;
    bool some_unread_ = false;
};

}  // namespace blkscope::devstat
