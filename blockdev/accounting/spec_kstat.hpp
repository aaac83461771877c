// SpecKstat: a setting of a device that has no figures of its own, as long as the device has it.
//
// Published: nbd:N:nbdN,WHAT, NAMED of class misc. The record `spec` is the text of the setting.
//
// Units:     none.
// Ownership: owns the kstat and the text.
// Threads:   any one thread constructs and destroys it.
// Errors:    a kstat that cannot be created is missing, and kstat_create() has reported why.
#pragma once

#include <cerrno>
#include <string>
#include <utility>

#include "blockdev/accounting/owned_kstat.hpp"

namespace blkscope {

class SpecKstat {
  public:
    SpecKstat(const Subject& subject, const char* what, std::string spec) : spec_(std::move(spec)) {
        if (!subject.published()) return;
        kstat_ = make_device_kstat(subject, {what, "misc", KSTAT_TYPE_NAMED, 1}, this, update);
        if (!kstat_) return;
        add_text(*kstat_, *KSTAT_NAMED_PTR(kstat_), "spec", spec_.c_str());
        kstat_install(kstat_.get());
    }
    SpecKstat& operator=(SpecKstat&&) = delete;

  private:
    static int update(kstat_t*, int rw) { return rw == KSTAT_WRITE ? EACCES : 0; }

    const std::string spec_;
    OwnedKstat kstat_;  // last: destroyed before the data that readers use
};

}  // namespace blkscope
