// Feeds any data of a foreign kstat to what the commands kstat and kstat2 make of it.
//
// The first byte says which kstat: a known structure, a blob of stats(3), another type, or a histogram of kstat2.
// Behind it are the data. Each value has a text of one line. A histogram has a row for each count between the first
// and the last that are not 0. Built twice: with libFuzzer (BLKSCOPE_FUZZ), and into a test that
// runs the corpus and random bytes.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "require.hpp"
#include "tools/kstat/decode.hpp"
#include "tools/kstat/format.hpp"
#include "tools/kstat/raw.hpp"
#include "tools/kstat2/histogram.hpp"
#include "tools/kstat2/units.hpp"

namespace {

using namespace blkscope;

bool is_one_line(std::string_view text) {
    return !text.empty() && text.find('\n') == text.npos;
}

struct Name {
    const char* module;
    const char* name;
    uint8_t type;
};
constexpr std::array<Name, 13> names{{{"cpu_stat", "cpu_stat0", KSTAT_TYPE_RAW},
                                      {"unix", "var", KSTAT_TYPE_RAW},
                                      {"unix", "ncstats", KSTAT_TYPE_RAW},
                                      {"unix", "sysinfo", KSTAT_TYPE_RAW},
                                      {"unix", "vminfo", KSTAT_TYPE_RAW},
                                      {"nfs", "mntinfo", KSTAT_TYPE_RAW},
                                      {"devstat", "nbd0,devstat", KSTAT_TYPE_RAW},
                                      {"stats", "nbd0,stats", KSTAT_TYPE_RAW},
                                      {"any", "unknown", KSTAT_TYPE_RAW},
                                      {"any", "intr", KSTAT_TYPE_INTR},
                                      {"any", "io", KSTAT_TYPE_IO},
                                      {"any", "timer", KSTAT_TYPE_TIMER},
                                      {"any", "named", KSTAT_TYPE_NAMED}}};

// A string's place is checked by the reader, and is not part of this.
void remove_strings(std::vector<kstat_named_t>& records) {
    for (kstat_named_t& record : records) {
        if (record.data_type == KSTAT_DATA_STRING) record.data_type = KSTAT_DATA_CHAR;
    }
}

void decode(const Name& name, std::string_view data) {
    kstat_t kstat{};
    std::strcpy(kstat.ks_module, name.module);
    std::strcpy(kstat.ks_name, name.name);
    kstat.ks_type = name.type;
    // Aligned, as the reader's memory is; and of the exact length, so that a read behind the end is seen.
    std::vector<kstat_named_t> records(data.size() / sizeof(kstat_named_t));
    std::vector<std::max_align_t> words(data.size() / sizeof(std::max_align_t));
    std::vector<char> bytes(data.begin(), data.end());
    kstat.ks_data = bytes.data();
    kstat.ks_data_size = bytes.size();
    kstat.ks_ndata = static_cast<uint_t>(bytes.size());
    if (name.type == KSTAT_TYPE_NAMED) {
        if (!records.empty())
            std::memcpy(records.data(), data.data(), records.size() * sizeof records[0]);
        remove_strings(records);
        kstat.ks_data = records.data();
        kstat.ks_ndata = static_cast<uint_t>(records.size());
        kstat.ks_data_size = records.size() * sizeof records[0];
    } else if (name.type != KSTAT_TYPE_RAW) {
        if (!words.empty()) std::memcpy(words.data(), data.data(), words.size() * sizeof words[0]);
        kstat.ks_data = words.data();
        kstat.ks_ndata = words.empty() ? 0 : 1;
        kstat.ks_data_size = words.size() * sizeof words[0];
    }
    if (bytes.empty()) kstat.ks_data = nullptr;
    for (const kstat_command::Statistic& statistic : kstat_command::decode(kstat)) {
        require(!statistic.name.empty());
        static_cast<void>(kstat_command::value_text(statistic.value));
    }
}

// The next number of the data, or 0.
uint64_t take(std::string_view& data) {
    uint64_t number = 0;
    const size_t bytes = std::min(data.size(), sizeof number);
    std::memcpy(&number, data.data(), bytes);
    data.remove_prefix(bytes);
    return number;
}

size_t rows_of(const std::vector<uint64_t>& counts) {
    const auto filled = [](uint64_t count) { return count != 0; };
    const auto first = std::ranges::find_if(counts, filled);
    const auto last = std::find_if(counts.rbegin(), counts.rend(), filled).base();
    return first < last ? static_cast<size_t>(last - first) : 1;
}

void draw(std::string_view data) {
    kstat2_command::Reading reading;
    for (const char* name : {"type", "range_min", "range_max", "stepping"}) {
        reading.statistics.push_back({name, take(data)});
    }
    kstat2_command::Meaning meaning{.type = static_cast<uint16_t>(take(data) % 64),
                                    .flags = static_cast<uint16_t>(take(data)),
                                    .scale = take(data)};
    std::vector<uint64_t> counts;
    while (!data.empty()) counts.push_back(take(data));
    require(is_one_line(kstat2_command::metadata_text(meaning)));
    for (const uint64_t count : counts)
        require(is_one_line(kstat2_command::in_units(count, meaning)));
    const size_t rows = rows_of(counts);
    reading.statistics.push_back({"buckets", counts, meaning});
    for (const bool scaled : {false, true}) {
        const auto text = kstat2_command::draw_histogram(reading, "", scaled);
        if (text) require(static_cast<size_t>(std::ranges::count(*text, '\n')) == rows);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    const size_t which = data[0] % (names.size() + 1);
    which < names.size() ? decode(names[which], bytes) : draw(bytes);
    return 0;
}
