#include "devstat/entries/entry.hpp"

#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#include "base/clock.hpp"
#include "devstat/entries/bintime.hpp"

namespace blkscope::devstat {
namespace {

// The names and numbers in use by this process's entries. Threads: any.
class Names {
  public:
    static Names& of_this_process() {
        static Names& names = *new Names;  // never destroyed: entries may outlive main
        return names;
    }

    // `name` if it is free for the instance and fits, else another free name. The caller gives it
    // back.
    std::string take(int instance, const std::string& name) {
        const std::lock_guard lock(mutex_);
        std::string wanted = name;
        while (wanted.size() >= KSTAT_STRLEN || !taken_.emplace(instance, wanted).second) {
            // Short enough for any number, which has 11 characters at most.
            constexpr size_t kept = KSTAT_STRLEN - 1 - 1 - 11;
            wanted = name.substr(0, kept) + "," + std::to_string(++doubles_);
        }
        return wanted;
    }

    void give_back(int instance, const std::string& name) {
        const std::lock_guard lock(mutex_);
        taken_.erase({instance, name});
    }

    // Numbers from 0; none is used again.
    uint32_t next_number() {
        const std::lock_guard lock(mutex_);
        return numbers_++;
    }

  private:
    std::mutex mutex_;
    std::set<std::pair<int, std::string>> taken_;
    uint32_t numbers_ = 0;
    unsigned doubles_ = 0;
};

// The preferred name of the kstat. The device's own name belongs to its IO kstat.
std::string kstat_name_of(const Identity& identity) {
    if (identity.anonymous) return identity.label + kstat_suffix;
    return identity.name.substr(0, DEVSTAT_NAME_LEN - 1) + std::to_string(identity.unit) +
           kstat_suffix;
}

void identify(Devstat& entry, const Identity& identity) {
    entry.allocated = 1;
    entry.block_size = identity.block_size;
    entry.flags = identity.flags;
    entry.device_type = identity.type;
    entry.priority = identity.priority;
    entry.creation_time = bintime_of(now_ns());
    if (identity.anonymous) {
        entry.unit_number = -1;
        entry.id = identity.id;
        return;
    }
    entry.unit_number = identity.unit;
    entry.device_number = Names::of_this_process().next_number();
    identity.name.copy(entry.device_name, DEVSTAT_NAME_LEN - 1);
}

}  // namespace

Entry::Entry(const Identity& identity, const void* owner, Counters counters)
    : owner_(owner),
      counters_(counters),
      instance_(identity.unit),
      kstat_name_(Names::of_this_process().take(identity.unit, kstat_name_of(identity))) {
    identify(blank_, identity);
}

bool Entry::publish() {
    // Virtual: snapshot() makes all the data.
    kstat_ = kstat_create(kstat_module, instance_, kstat_name_.c_str(), kstat_module,
                          KSTAT_TYPE_RAW, sizeof(Record), KSTAT_FLAG_VIRTUAL);
    if (kstat_ == nullptr) return false;
    kstat_->ks_private = this;
    kstat_->ks_snapshot = snapshot;
    kstat_install(kstat_);
    return true;
}

Entry::~Entry() {
    kstat_delete(kstat_);
    Names::of_this_process().give_back(instance_, kstat_name_);
}

int Entry::snapshot(kstat_t* ksp, void* out, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;
    const auto& entry = *static_cast<const Entry*>(ksp->ks_private);
    Record record;
    record.entry = entry.blank_;
    entry.counters_(entry.owner_, record.entry);
    ksp->ks_snaptime = now_ns();
    std::memcpy(out, &record, sizeof record);
    return 0;
}

}  // namespace blkscope::devstat
