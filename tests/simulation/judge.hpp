// Judge: the verdict of a life, and what all its clients were told.
//
// Threads: a single one.
#pragma once

#include <cstdint>
#include <string>

namespace blkscope::simulation {

/// Keeps the first error of a life.
class Judge {
  public:
    void fail(const std::string& what) {
        if (verdict_.empty()) verdict_ = what;
    }
    [[nodiscard]] bool failed() const { return !verdict_.empty(); }
    [[nodiscard]] const std::string& verdict() const { return verdict_; }

    /// A new boot begins.
    void begin() {
        sync_errors = other_errors = through_errors = hung_errors = refused_elsewhere = 0;
    }

    // Counts of all clients' answers. `answers` counts the whole life, the others this boot.
    uint64_t answers = 0;
    uint64_t sync_errors = 0;        // of flushes
    uint64_t other_errors = 0;       // of requests that were not refused
    uint64_t through_errors = 0;     // of those that write through; part of other_errors
    uint64_t hung_errors = 0;        // of requests that hung until their connection ended
    uint64_t refused_elsewhere = 0;  // of requests that another server refuses, or does not offer

  private:
    std::string verdict_;
};

}  // namespace blkscope::simulation
