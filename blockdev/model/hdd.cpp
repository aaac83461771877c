#include "blockdev/model/hdd.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <stdexcept>

namespace blkscope::model {

HddShape HddShape::parse(std::string_view arguments) {
    const auto parts = split(arguments, ':');
    expect_parts(parts, 4, "hdd:RPM:SEEK_MIN:SEEK_FULL:RATE");
    const HddShape shape{parse_count(parts[0], "RPM", 1), parse_time(parts[1]),
                         parse_time(parts[2]), parse_bytes(parts[3], "RATE")};
    if (shape.seek_full < shape.seek_min) {
        throw std::invalid_argument("SEEK_FULL is less than SEEK_MIN");
    }
    return shape;
}

std::string HddShape::text() const {
    return "hdd:" + std::to_string(rpm) + ":" + text_of(seek_min) + ":" + text_of(seek_full) + ":" +
           text_of_bytes(rate);
}

Hdd::Hdd(const HddShape& shape, uint64_t size_bytes)
    : shape_(shape), size_bytes_(static_cast<double>(size_bytes)) {
    assert(size_bytes > 0);
    assert(shape_.rpm > 0 && shape_.rate > 0);
}

void Hdd::set_head(uint64_t byte) {
    head_ = std::min(byte, static_cast<uint64_t>(size_bytes_));
    assert(static_cast<double>(head_) <= size_bytes_);
}

double Hdd::draw_ns(uint64_t offset, uint64_t bytes, Draws& draws) {
    const uint64_t distance = offset > head_ ? offset - head_ : head_ - offset;
    double ns = static_cast<double>(bytes) * 1e9 / static_cast<double>(shape_.rate);
    if (distance > 0) ns += draws.share() * 60e9 / static_cast<double>(shape_.rpm);
    if (distance >= near_bytes) {
        // A device that has grown is larger than its model.
        const double share = std::min(1.0, static_cast<double>(distance) / size_bytes_);
        ns += shape_.seek_min.ns() +
              (shape_.seek_full.ns() - shape_.seek_min.ns()) * std::sqrt(share);
    }
    head_ = offset + bytes;
    return ns;
}

}  // namespace blkscope::model
