// A libkstat for tests of the reader: a chain that the test sets up.
#pragma once

#include <kstat.h>

#include <list>
#include <string>

namespace blkscope::kstat_command {

/// The published kstats, and the behaviour of the library.
struct Published {
    std::list<kstat_t> chain;  // a list, because a kstat must stay at its address
    int open_errors = 0;       // this many opens fail with EAGAIN
    int update_error = 0;
    int opens = 0;
    int closes = 0;
    int reads = 0;
    std::string unreadable;              // the name of a kstat whose provider is closed
    hrtime_t snaptime = 2'000'000'000;   // of each read
    kstat_intr_t data{{1, 2, 3, 4, 5}};  // of a kstat that was published without data
    kstat_ctl_t control{};
};

extern Published published;

/// Adds a kstat with the data that its header points to.
void publish(const kstat_t& ksp);
void publish(const char* module, int instance, const char* name, uchar_t type = KSTAT_TYPE_INTR);

}  // namespace blkscope::kstat_command
