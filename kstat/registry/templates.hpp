// The templates: pairs and metadata of the kstats that every tool knows.
//
// Units: times in nanoseconds. Source: kstat2_io(9S), kstat2_intr(9S), kstat_timer(9S) and
// kstat2_lookup_template(9F); which values are counters and which are states is ours.
#pragma once

#include <sys/kstat2.h>

#include <vector>

#include "kstat/wire/model.hpp"

/// What a kstat2_template_t * points at; at global scope, as it is the C header's.
struct kstat2_template {
    uint16_t metatype;
    std::vector<blkscope::kstat2::Field> fields;
};
