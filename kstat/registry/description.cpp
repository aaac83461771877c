#include "kstat/registry/description.hpp"

#include <functional>
#include <string_view>

namespace blkscope::kstat2 {
namespace {

class Hash {
  public:
    void add(size_t word) { hash_ = (hash_ ^ word) * 0x100000001b3; }
    void add(const std::string& text) { add(std::hash<std::string_view>()(text)); }
    [[nodiscard]] size_t result() const { return hash_; }

  private:
    size_t hash_ = 0xcbf29ce484222325;  // FNV-1a, a word at a time
};

}  // namespace

size_t DescriptionHash::operator()(const Description& description) const {
    Hash hash;
    hash.add(description.desc);
    for (const Field& field : description.fields) {
        hash.add(field.name);
        hash.add(field.md.descr);
    }
    return hash.result();
}

size_t ShapeHash::operator()(const Buckets& shape) const {
    Hash hash;
    hash.add(static_cast<size_t>(shape.type()));
    if (shape.is_ranged()) {
        hash.add(shape.range_min());
        hash.add(shape.range_max());
        hash.add(shape.stepping());
    }
    return hash.result();
}

bool SameShape::operator()(const Buckets& one, const Buckets& other) const {
    if (one.type() != other.type()) return false;
    if (!one.is_ranged()) return true;
    return one.range_min() == other.range_min() && one.range_max() == other.range_max() &&
           one.stepping() == other.stepping();
}

}  // namespace blkscope::kstat2
