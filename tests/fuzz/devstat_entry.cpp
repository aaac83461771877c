// Feeds the data of a foreign kstat to the reader of FreeBSD's entries, and each entry to the figures.
//
// The first half of the bytes is an entry before, and the second one the same entry now. The data may be refused. All kinds
// of an accepted entry are known ones, and its name ends. Its figures of a second are numbers. Built twice: with libFuzzer
// (BLKSCOPE_FUZZ), and into a test that runs the corpus and mutations of it.
#include <devstat.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "devstat/libdevstat/reader.hpp"
#include "require.hpp"

namespace {

using namespace blkscope::devstat;

// A fuzzer seldom finds the version and the size by itself.
Decoded decode_as_ours(std::span<const std::byte> data) {
    const Decoded decoded = decode(data);
    if (decoded.entry || data.size() < sizeof(Devstat)) return decoded;
    Record record;
    std::memcpy(&record.entry, data.data(), sizeof record.entry);
    const auto bytes = std::as_bytes(std::span(&record, 1));
    return decode(bytes);
}

void check(const Devstat& entry) {
    require(entry.device_name[DEVSTAT_NAME_LEN - 1] == '\0');
    require((static_cast<unsigned>(entry.device_type) & ~0x1ffU) == 0);
    require((static_cast<unsigned>(entry.flags) & ~7U) == 0);
    require(static_cast<unsigned>(entry.priority) <= DEVSTAT_PRIORITY_MAX);
    require(!precedes(entry, entry));
}

long double figure(Devstat now, Devstat* before, unsigned metric) {
    long double figure = 0;
    require(devstat_compute_statistics(&now, before, 1.0L, metric, &figure, DSM_NONE) == 0);
    return figure;
}

void compute(const Devstat& now, Devstat before) {
    for (Devstat* const since : {&before, static_cast<Devstat*>(nullptr)}) {
        for (unsigned metric = DSM_KB_PER_TRANSFER; metric <= DSM_MS_PER_TRANSACTION_WRITE;
             ++metric) {
            require(std::isfinite(figure(now, since, metric)));
        }
        require(figure(now, since, DSM_BUSY_PCT) >= 0);
    }
}

void select(Devstat one, Devstat other) {
    Devstat devices[2]{one, other};
    devices[1].device_number = devices[0].device_number + 1;
    device_selection* selection = nullptr;
    int selected = 0;
    int selections = 0;
    long generation = 0;
    require(devstat_selectdevs(&selection, &selected, &selections, &generation, 1, devices, 2,
                               nullptr, 0, nullptr, 0, DS_SELECT_ADD, 2, 0) == 1);
    require(selections == 2 && selected <= 2);
    std::free(selection);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
    const Decoded before = decode_as_ours(bytes.first(size / 2));
    const Decoded now = decode_as_ours(bytes.subspan(size / 2));
    if (before.entry) check(*before.entry);
    if (now.entry) check(*now.entry);
    if (!before.entry || !now.entry) return 0;
    require(!precedes(*before.entry, *now.entry) || !precedes(*now.entry, *before.entry));
    compute(*now.entry, *before.entry);
    select(*before.entry, *now.entry);
    return 0;
}
