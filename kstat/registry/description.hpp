// The parts that many kstats share: the description that a reader fetches once, and histograms'
// shapes.
//
// Most of a kstat is text. A server of a thousand devices has 23,000 kstats and a dozen
// descriptions.
//
// Ownership: values, which Interned shares.
// Threads:   any; a shared value never changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kstat/histogram/buckets.hpp"
#include "kstat/registry/interned.hpp"
#include "kstat/wire/model.hpp"

namespace blkscope::kstat2 {

struct Description {
    std::string desc;
    uint16_t metatype = KSTAT2_MT_NONE;
    uint32_t metaflags = KSTAT2_MF_NONE;
    std::vector<Field> fields;  // empty until the pairs have names

    bool operator==(const Description&) const = default;
};

/// Hashes the texts alone: few descriptions differ only elsewhere.
struct DescriptionHash {
    size_t operator()(const Description& description) const;
};

struct ShapeHash {
    size_t operator()(const Buckets& shape) const;
};

/// Whether two histograms have the same buckets.
struct SameShape {
    bool operator()(const Buckets& one, const Buckets& other) const;
};

using SharedDescription = std::shared_ptr<const Description>;

/// The shared values of one registry, under its lock.
struct Commons {
    Interned<Description, DescriptionHash> descriptions;
    Interned<Buckets, ShapeHash, SameShape> shapes;
};

}  // namespace blkscope::kstat2
