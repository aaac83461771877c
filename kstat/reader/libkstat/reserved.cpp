#include "kstat/reader/libkstat/reserved.hpp"

#include <array>
#include <span>
#include <string_view>
#include <vector>

namespace blkscope::kstat {
namespace {

constexpr std::array<std::string_view, KSTAT_NUM_TYPES> labels{"raw", "name=value", "interrupt",
                                                               "i/o", "event_timer"};

kstat_t header(kid_t kid, std::string_view name, uchar_t type) {
    kstat_t ks = host::header("unix", 0, name, "kstat", type);
    ks.ks_crtime = gethrtime();
    ks.ks_snaptime = ks.ks_crtime;
    ks.ks_kid = kid;
    return ks;
}

}  // namespace

kstat_t headers_kstat() {
    kstat_t ks = header(headers_kid, "kstat_headers", KSTAT_TYPE_RAW);
    ks.ks_flags = KSTAT_FLAG_VIRTUAL | KSTAT_FLAG_VAR_SIZE;
    return ks;
}

host::Data headers_data(const kstat_t* chain) {
    std::vector<kstat_t> copies;
    for (const kstat_t* ks = chain; ks != nullptr; ks = ks->ks_next) {
        copies.push_back(*ks);
        copies.back().ks_next = nullptr;
        copies.back().ks_data = nullptr;
    }
    const auto bytes = std::as_bytes(std::span(copies));
    return {gethrtime(), static_cast<uint_t>(copies.size()), {bytes.begin(), bytes.end()}};
}

kstat_t types_kstat() {
    kstat_t ks = header(types_kid, "kstat_types", KSTAT_TYPE_NAMED);
    host::hold_records(ks, labels.size());
    return ks;
}

host::Data types_data() {
    host::Records records;
    for (size_t i = 0; i < labels.size(); ++i) records.add(labels[i], KSTAT_DATA_ULONG, i);
    return records.finish(gethrtime());
}

}  // namespace blkscope::kstat
