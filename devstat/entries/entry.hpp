// Entry: a device's statistics in the form of FreeBSD's, published as a RAW kstat.
//
//     owner: counts, in whatever form is cheap
//     reader asks ─▶ counters(owner, out) on the kstat server's thread ─▶ Record ─▶ libdevstat
//
// Published: devstat:U:NAMEU,devstat (RAW, class devstat), U the unit; for an entry without a name
// of its own devstat:U:LABEL,devstat. A name that is taken in this process, or too long, is cut and
// gets a number.
//
// Ownership: owns the kstat; borrows the owner, whose counters are not asked for after destruction.
// Threads:   any.
// Errors:    where the kstat cannot be created, publish() is false; kstat_create() said why.
#pragma once

#include <sys/devicestat.h>
#include <sys/kstat.h>

#include <cstdint>
#include <memory>
#include <string>

namespace blkscope::devstat {

/// The C struct's name is a namespace in here.
using Devstat = struct ::devstat;

/// The module and the class of the kstats.
inline constexpr const char* kstat_module = "devstat";

/// Behind the device in the kstat's name.
inline constexpr const char* kstat_suffix = ",devstat";

/// The data of the kstat. What stands in front is what a reader of another build checks first.
struct Record {
    uint32_t version = DEVSTAT_VERSION;
    uint32_t size = sizeof(Devstat);
    Devstat entry{};
};

/// What an entry says of its device, once.
struct Identity {
    std::string name;  // without the unit; cut to 15 characters
    int unit = 0;
    uint32_t block_size = 0;
    devstat_support_flags flags = DEVSTAT_ALL_SUPPORTED;
    devstat_type_flags type = DEVSTAT_TYPE_DIRECT;
    devstat_priority priority = DEVSTAT_PRIORITY_MIN;
    bool anonymous = false;    // not in the list of devices; unit is that of the kstat only
    std::string label;         // of an anonymous one's kstat
    const void* id = nullptr;  // of an anonymous one
};

class Entry {
  public:
    /// Adds the counters to `out`, in which all the rest is filled in.
    using Counters = void (*)(const void* owner, Devstat& out);

    /// Not visible yet: an owner may still set itself up.
    Entry(const Identity& identity, const void* owner, Counters counters);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    /// Makes it visible to readers, once. False: it cannot be.
    [[nodiscard]] bool publish();

    /// Identity, number and creation as readers get them, and no counters.
    [[nodiscard]] const Devstat& blank() const { return blank_; }

  private:
    static int snapshot(kstat_t* ksp, void* out, int rw);

    const void* owner_;
    Counters counters_;
    Devstat blank_{};
    kstat_t* kstat_ = nullptr;
    int instance_;
    std::string kstat_name_;
};

}  // namespace blkscope::devstat
