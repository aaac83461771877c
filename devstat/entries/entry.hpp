// Entry: a device's statistics in FreeBSD's form, published as a RAW kstat.
//
//     owner: counts, in whatever form is cheap
//     reader asks ─▶ counters(owner, out) on the kstat server's thread ─▶ Record ─▶ libdevstat
//
// Published: devstat:U:NAMEU,devstat (RAW, class devstat), U the unit; for an entry without a name,
//            devstat:U:LABEL,devstat. A name that is taken in this process, or too long, is cut and
//            gets a number.
//
// Ownership: owns the kstat; borrows the owner, whose counters are not read after destruction.
// Threads:   any.
// Errors:    publish() is false if the kstat cannot be created; kstat_create() reported why.
#pragma once

#include <sys/devicestat.h>
#include <sys/kstat.h>

#include <cstdint>
#include <string>

namespace blkscope::devstat {

/// The C struct's name is a namespace in here.
using Devstat = struct ::devstat;

/// The module and the class of the kstats.
inline constexpr const char* kstat_module = "devstat";

/// The end of the kstat's name, behind the device.
inline constexpr const char* kstat_suffix = ",devstat";

/// The data of the kstat. A reader of another build checks the first fields before the rest.
struct Record {
    uint32_t version = DEVSTAT_VERSION;
    uint32_t size = sizeof(Devstat);
    Devstat entry{};
};

/// The constant description of an entry's device.
struct Identity {
    std::string name;  // without the unit; cut to 15 characters
    int unit = 0;
    uint32_t block_size = 0;
    devstat_support_flags flags = DEVSTAT_ALL_SUPPORTED;
    devstat_type_flags type = DEVSTAT_TYPE_DIRECT;
    devstat_priority priority = DEVSTAT_PRIORITY_MIN;
    bool anonymous = false;    // not in the list of devices; only the kstat has the unit
    std::string label;         // of an anonymous entry's kstat
    const void* id = nullptr;  // of an anonymous entry
};

class Entry {
  public:
    /// Sets the counters of `out`; all other fields are already set.
    using Counters = void (*)(const void* owner, Devstat& out);

    /// The entry is not visible yet: its owner may still be setting itself up.
    Entry(const Identity& identity, const void* owner, Counters counters);
    ~Entry();
    Entry& operator=(Entry&&) = delete;

    /// Makes the entry visible to readers, once. False: the entry cannot be visible.
    [[nodiscard]] bool publish();

    /// Identity, number and creation as readers get them, without counters.
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
