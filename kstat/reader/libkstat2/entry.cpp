#include "kstat/reader/libkstat2/entry.hpp"

#include <utility>

namespace blkscope::kstat2::reader {

Entry::Entry(std::string_view name, kstat2_nv_kind_t kind) : name_(name) {
    nv_.name = name_.c_str();
    nv_.kind = static_cast<uint8_t>(kind);
}

void Entry::set(Value value) {
    data_ = std::move(value.data);
    nv_.flags = value.flags;
    std::visit([this](auto& data) { point_at(data); }, data_);
}

void Entry::set(kstat2_map_t map) {
    nv_.type = KSTAT2_NVVT_MAP;
    nv_.kstat2_map = map;
}

void Entry::point_at(uint64_t& integer) {
    nv_.type = KSTAT2_NVVT_INT;
    nv_.kstat2_integer = integer;
}

void Entry::point_at(std::vector<uint64_t>& integers) {
    nv_.type = KSTAT2_NVVT_INTS;
    nv_.kstat2_integers.array = integers.data();
    nv_.kstat2_integers.length = static_cast<uint32_t>(integers.size());
}

void Entry::point_at(std::string& string) {
    nv_.type = KSTAT2_NVVT_STR;
    nv_.kstat2_string = string.data();
}

void Entry::point_at(std::vector<std::string>& strings) {
    strings_.clear();
    for (std::string& string : strings) strings_.push_back(string.data());
    nv_.type = KSTAT2_NVVT_STRS;
    nv_.kstat2_strings.array = strings_.data();
    nv_.kstat2_strings.length = static_cast<uint32_t>(strings_.size());
}

}  // namespace blkscope::kstat2::reader
