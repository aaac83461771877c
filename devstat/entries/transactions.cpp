// The functions of devstat(9): entries whose counters are a struct devstat, under two sequences.
//
//     writer   begun + 1 | store ... store | ended + 1       begun is sequence1, ended is sequence0
//     reader   load ended, copy, load begun: both the same, or again
//
// The two sequences count updates and are not a lock. A start on one thread may therefore overlap
// an end on another. Every field is moved atomically, stores release and loads acquire, as in the
// sequence lock (base/seqlock.hpp).
#include <sys/bio.h>
#include <sys/devicestat.h>

#include <atomic>
#include <cassert>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <thread>

#include "base/clock.hpp"
#include "devstat/entries/bintime.hpp"
#include "devstat/entries/entry.hpp"
#include "devstat/entries/observe.hpp"

namespace blkscope::devstat {
namespace {

using blkscope::publish;

// Limit of a reader's attempts. After it, the reader gets a copy whose sequences differ: the
// entry's writer has stopped in the middle.
constexpr hrtime_t patience_ns = 10'000'000;

// An entry's memory: its driver writes it, and readers see its kstat.
struct Slot {
    explicit Slot(const Identity& identity) : entry(identity, this, counters) {
        live = entry.blank();
    }

    static void counters(const void* owner, Devstat& out) {
        const Devstat& live = static_cast<const Slot*>(owner)->live;
        const hrtime_t began = gethrtime();
        while (!observe_counters(live, out) && gethrtime() - began < patience_ns) {
            std::this_thread::yield();
        }
    }

    Devstat live{};
    Entry entry;  // last, so that no reader is left when the rest is destroyed
};

// The entries of this process, by the address that the driver has.
class Slots {
  public:
    static Slots& of_this_process() {
        static Slots& slots = *new Slots;  // never destroyed: threads may outlive main
        return slots;
    }

    Devstat* add(const Identity& identity) {
        auto slot = std::make_unique<Slot>(identity);
        if (!slot->entry.publish()) return nullptr;
        Devstat* const live = &slot->live;
        const std::lock_guard lock(mutex_);
        slots_.emplace(live, std::move(slot));
        return live;
    }

    void remove(const Devstat* live) {
        std::unique_ptr<Slot> slot;  // freed without the lock: the last reader may still run
        const std::lock_guard lock(mutex_);
        const auto at = slots_.find(live);
        assert(at != slots_.end());
        slot = std::move(at->second);
        slots_.erase(at);
    }

  private:
    std::mutex mutex_;
    std::map<const Devstat*, std::unique_ptr<Slot>> slots_;
};

class Update {
  public:
    explicit Update(Devstat& entry) : entry_(entry) {
        std::atomic_ref(entry.sequence1).fetch_add(1, std::memory_order_acq_rel);
    }
    ~Update() { std::atomic_ref(entry_.sequence0).fetch_add(1, std::memory_order_release); }
    Update& operator=(Update&&) = delete;

  private:
    Devstat& entry_;
};

bintime clock_now() {
    return bintime_of(now_ns());
}

void store(bintime& field, const bintime& time) {
    publish(field.sec, time.sec);
    publish(field.frac, time.frac);
}

devstat_trans_flags kind_of(const bio& request) {
    switch (request.bio_cmd) {
        case BIO_READ:
            return DEVSTAT_READ;
        case BIO_WRITE:
            return DEVSTAT_WRITE;
        case BIO_DELETE:
            return DEVSTAT_FREE;
        case BIO_ZONE:
            return request.bio_zone.zone_cmd == DISK_ZONE_REPORT_ZONES ? DEVSTAT_READ
                                                                       : DEVSTAT_NO_DATA;
        default:
            return DEVSTAT_NO_DATA;
    }
}

// The name of the kstat of an entry that has only an id.
std::string label_of(const void* id) {
    char text[2 + 2 * sizeof id + 1];
    std::snprintf(text, sizeof text, "%p", id);
    return text;
}

Identity identity_of(const void* dev_name, int unit) {
    Identity identity;
    identity.anonymous = unit == -1;
    if (identity.anonymous) {
        identity.id = dev_name;
        identity.label = label_of(dev_name);
    } else {
        identity.name = static_cast<const char*>(dev_name);
        identity.unit = unit;
    }
    return identity;
}

}  // namespace
}  // namespace blkscope::devstat

using namespace blkscope::devstat;

extern "C" {

// NOLINTNEXTLINE(readability-function-size): the signature is FreeBSD's
struct devstat* devstat_new_entry(const void* dev_name, int unit_number, uint32_t block_size,
                                  devstat_support_flags flags, devstat_type_flags device_type,
                                  devstat_priority priority) try {
    Identity identity = identity_of(dev_name, unit_number);
    identity.block_size = block_size;
    identity.flags = flags;
    identity.type = device_type;
    identity.priority = priority;
    return Slots::of_this_process().add(identity);
} catch (const std::bad_alloc&) {
    return nullptr;
}

void devstat_remove_entry(struct devstat* ds) {
    if (ds != nullptr) Slots::of_this_process().remove(ds);
}

void devstat_start_transaction(struct devstat* ds, const struct bintime* now) {
    if (ds == nullptr) return;
    const Update update(*ds);
    const unsigned int was =
        std::atomic_ref(ds->start_count).fetch_add(1, std::memory_order_acq_rel);
    if (was == blkscope::observe(ds->end_count)) {
        store(ds->busy_from, now != nullptr ? *now : clock_now());
    }
}

void devstat_start_transaction_bio(struct devstat* ds, struct bio* bp) {
    if (ds == nullptr) return;
    bp->bio_t0 = clock_now();
    devstat_start_transaction_bio_t0(ds, bp);
}

void devstat_start_transaction_bio_t0(struct devstat* ds, struct bio* bp) {
    if (ds != nullptr) devstat_start_transaction(ds, &bp->bio_t0);
}

// NOLINTNEXTLINE(readability-function-size): the signature is FreeBSD's
void devstat_end_transaction(struct devstat* ds, uint32_t bytes, devstat_tag_type tag_type,
                             devstat_trans_flags flags, const struct bintime* now,
                             const struct bintime* then) {
    if (ds == nullptr) return;
    const bintime end =
        now != nullptr ? *now : clock_now();  // before the update: readers need not wait for it
    const Update update(*ds);
    publish(ds->bytes[flags], ds->bytes[flags] + bytes);
    publish(ds->operations[flags], ds->operations[flags] + 1);
    if ((ds->flags & DEVSTAT_NO_ORDERED_TAGS) == 0 && tag_type != DEVSTAT_TAG_NONE) {
        publish(ds->tag_types[tag_type], ds->tag_types[tag_type] + 1);
    }
    if (then != nullptr) {
        store(ds->duration[flags], sum(ds->duration[flags], difference(end, *then)));
    }
    // Busy time is charged in slices: each end charges the time since the last end.
    store(ds->busy_time, sum(ds->busy_time, difference(end, ds->busy_from)));
    store(ds->busy_from, end);
    publish(ds->end_count, ds->end_count + 1);
}

void devstat_end_transaction_bio(struct devstat* ds, const struct bio* bp) {
    devstat_end_transaction_bio_bt(ds, bp, nullptr);
}

void devstat_end_transaction_bio_bt(struct devstat* ds, const struct bio* bp,
                                    const struct bintime* now) {
    if (ds == nullptr) return;
    const auto tag = (bp->bio_flags & BIO_ORDERED) != 0 ? DEVSTAT_TAG_ORDERED : DEVSTAT_TAG_SIMPLE;
    devstat_end_transaction(ds, static_cast<uint32_t>(bp->bio_bcount - bp->bio_resid), tag,
                            kind_of(*bp), now, &bp->bio_t0);
}

}  // extern "C"
