#include "kstat/reader/libkstat/reserved.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <string_view>

namespace blkscope::kstat {

namespace {

constexpr std::array<std::string_view, KSTAT_NUM_TYPES> labels{"raw", "name=value", "interrupt",
                                                               "i/o", "event_timer"};

// libkstat does not link the provider's functions.
void set(char (&field)[KSTAT_STRLEN], std::string_view text) {
    std::copy(text.begin(), text.end(), std::begin(field));
}

kstat_t header(kid_t kid, std::string_view name, uchar_t type) {
    kstat_t ks{};
    ks.ks_crtime = gethrtime();
    ks.ks_snaptime = ks.ks_crtime;
    ks.ks_kid = kid;
    set(ks.ks_module, "unix");
    set(ks.ks_name, name);
    set(ks.ks_class, "kstat");
    ks.ks_type = type;
    return ks;
}

template <class Record>
std::vector<std::byte> to_bytes(const std::vector<Record>& records) {
    std::vector<std::byte> bytes(records.size() * sizeof(Record));
    if (!records.empty()) std::memcpy(bytes.data(), records.data(), bytes.size());
    return bytes;
}

}  // namespace

kstat_t headers_kstat() {
    kstat_t ks = header(headers_kid, "kstat_headers", KSTAT_TYPE_RAW);
    ks.ks_flags = KSTAT_FLAG_VIRTUAL | KSTAT_FLAG_VAR_SIZE;
    return ks;
}

std::vector<std::byte> headers_data(const kstat_t* chain) {
    std::vector<kstat_t> copies;
    for (const kstat_t* ks = chain; ks != nullptr; ks = ks->ks_next) {
        copies.push_back(*ks);
        copies.back().ks_next = nullptr;
        copies.back().ks_data = nullptr;
    }
    return to_bytes(copies);
}

kstat_t types_kstat() {
    kstat_t ks = header(types_kid, "kstat_types", KSTAT_TYPE_NAMED);
    ks.ks_ndata = labels.size();
    ks.ks_data_size = labels.size() * sizeof(kstat_named_t);
    return ks;
}

std::vector<std::byte> types_data() {
    std::vector<kstat_named_t> records(labels.size());
    for (size_t i = 0; i < labels.size(); ++i) {
        set(records[i].name, labels[i]);
        records[i].data_type = KSTAT_DATA_ULONG;
        records[i].value.ul = i;
    }
    return to_bytes(records);
}

}  // namespace blkscope::kstat
