// The templates: pairs and metadata of the standard kstats, which every tool reads.
//
// Units:  times in nanoseconds.
// Source: kstat2_io(9S), kstat2_intr(9S), kstat_timer(9S) and kstat2_lookup_template(9F). The
//         division of the values into counters and states is this project's.
#pragma once

#include <sys/kstat2.h>

#include <vector>

#include "kstat/wire/model.hpp"

/// The target of a kstat2_template_t *; at global scope, as in the C header.
struct kstat2_template {
    uint16_t metatype;
    std::vector<blkscope::kstat2::Field> fields;
};
