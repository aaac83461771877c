// One value of a map, with all memory that its kstat2_nv_t points at.
#pragma once

#include <kstat2.h>

#include <string>
#include <string_view>
#include <vector>

#include "kstat/wire/model.hpp"

namespace blkscope::kstat2::reader {

using Data = decltype(Value::data);

class Entry {
  public:
    Entry(std::string_view name, kstat2_nv_kind_t kind);
    Entry& operator=(Entry&&) = delete;

    /// Both keep the address nv(); all memory that it pointed at before is freed.
    void set(Value value);
    void set(kstat2_map_t map);

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] bool is_of(uint32_t kinds) const { return (nv_.kind & kinds) != 0; }
    [[nodiscard]] kstat2_nv_t nv() const { return &nv_; }

  private:
    void point_at(uint64_t& integer);
    void point_at(std::vector<uint64_t>& integers);
    void point_at(std::string& string);
    void point_at(std::vector<std::string>& strings);

    std::string name_;
    Data data_;
    std::vector<char*> strings_;  // the strings of data_
    kstat2_nv nv_{};
};

}  // namespace blkscope::kstat2::reader
