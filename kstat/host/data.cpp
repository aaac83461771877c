#include "kstat/host/data.hpp"

#include <algorithm>
#include <iterator>

namespace blkscope::kstat::host {
namespace {

template <size_t N>
void set(char (&field)[N], std::string_view text) {
    const std::string_view kept = text.substr(0, N - 1);
    std::copy(kept.begin(), kept.end(), std::begin(field));
}

}  // namespace

kstat_t header(std::string_view module, int instance, std::string_view name, std::string_view klass,
               uchar_t type) {
    kstat_t ks{};
    set(ks.ks_module, module);
    ks.ks_instance = instance;
    set(ks.ks_name, name);
    set(ks.ks_class, klass);
    ks.ks_type = type;
    return ks;
}

void hold_records(kstat_t& header, size_t records) {
    header.ks_ndata = static_cast<uint_t>(records);
    header.ks_data_size = records * sizeof(kstat_named_t);
}

kstat_named_t& Records::append(std::string_view name, uchar_t type) {
    kstat_named_t& record = records_.emplace_back();
    set(record.name, name);
    record.data_type = type;
    return record;
}

void Records::add(std::string_view name, uchar_t type, uint64_t value) {
    kstat_named_t& record = append(name, type);
    if (type == KSTAT_DATA_INT32 || type == KSTAT_DATA_UINT32) {
        record.value.ui32 = static_cast<uint32_t>(value);
    } else {
        record.value.ui64 = value;
    }
}

void Records::add_chars(std::string_view name, std::string_view value) {
    set(append(name, KSTAT_DATA_CHAR).value.c, value);
}

void Records::add_string(std::string_view name, std::string_view value) {
    append(name, KSTAT_DATA_STRING);
    strings_.emplace_back(value);
}

Data Records::finish(hrtime_t snaptime) const {
    std::vector<kstat_named_t> records = records_;
    size_t end = records.size() * sizeof(kstat_named_t);
    auto string = strings_.begin();
    for (kstat_named_t& record : records) {
        if (record.data_type != KSTAT_DATA_STRING) continue;
        const size_t length = (string++)->size() + 1;
        std::memcpy(&record.value.str.addr, &end, sizeof end);
        record.value.str.len = static_cast<uint32_t>(length);
        end += length;
    }
    std::vector<std::byte> bytes(end);
    size_t at = records.size() * sizeof(kstat_named_t);
    if (at > 0) std::memcpy(bytes.data(), records.data(), at);
    for (const std::string& text : strings_) {
        std::memcpy(bytes.data() + at, text.c_str(), text.size() + 1);
        at += text.size() + 1;
    }
    return {snaptime, static_cast<uint_t>(records.size()), std::move(bytes)};
}

}  // namespace blkscope::kstat::host
