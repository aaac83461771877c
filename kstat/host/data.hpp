// A kstat's data section in a provider's form: records, then their strings. Offsets from the
// section's start stand in place of pointers.
#pragma once

#include <sys/kstat.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace blkscope::kstat::host {

struct Data {
    hrtime_t snaptime;  // when the kernel's numbers were read
    uint_t ndata;
    std::vector<std::byte> bytes;
};

/// One kstat: its header, and the function that computes its data. Nothing: the kstat's subject was
/// removed.
struct Entry {
    kstat_t header;
    std::function<std::optional<Data>()> read;
    std::string identity{};  // differs from that of an earlier kstat of the same name; else empty
};

/// A header that differs from others of its kind in name only; the creation time is the boot.
kstat_t header(std::string_view module, int instance, std::string_view name, std::string_view klass,
               uchar_t type);

/// The sizes in the header of a NAMED kstat without strings.
void hold_records(kstat_t& header, size_t records);

/// Builds the data of a NAMED kstat.
class Records {
  public:
    /// The low 32 bits are kept for a 32-bit type.
    void add(std::string_view name, uchar_t type, uint64_t value);
    /// A KSTAT_DATA_CHAR of at most 15 characters.
    void add_chars(std::string_view name, std::string_view value);
    /// A KSTAT_DATA_STRING of any length.
    void add_string(std::string_view name, std::string_view value);

    Data finish(hrtime_t snaptime) const;

  private:
    kstat_named_t& append(std::string_view name, uchar_t type);

    std::vector<kstat_named_t> records_;
    std::vector<std::string> strings_;  // of the KSTAT_DATA_STRING records, in their order
};

/// The data of a RAW or IO kstat: the struct's bytes.
template <class T>
requires std::is_trivially_copyable_v<T> Data raw(const T& value, hrtime_t snaptime, uint_t ndata) {
    std::vector<std::byte> bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return {snaptime, ndata, std::move(bytes)};
}

}  // namespace blkscope::kstat::host
