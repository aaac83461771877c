// Feeds any text to devstat_buildmatch, and what it made of it to devstat_selectdevs.
//
// For any text, either nothing is added and there is a reason, or there is one match more. The
// match has as many categories as it has fields. Built twice: with libFuzzer (BLKSCOPE_FUZZ), and
// into a test that runs the corpus and mutations of it.
#include <devstat.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "require.hpp"

namespace {

using Devstat = struct ::devstat;

// A disk, a pass-through CD and nothing in particular, each of which it may select or not.
void select(devstat_match* matches, int count) {
    Devstat devices[3]{};
    devices[0].device_type = DEVSTAT_TYPE_IF_SCSI;
    devices[1].device_type = static_cast<devstat_type_flags>(
        DEVSTAT_TYPE_CDROM | DEVSTAT_TYPE_IF_IDE | DEVSTAT_TYPE_PASS);
    devices[2].device_type = static_cast<devstat_type_flags>(0x1ff);
    device_selection* selection = nullptr;
    int selected = 0;
    int selections = 0;
    long generation = 0;
    require(devstat_selectdevs(&selection, &selected, &selections, &generation, 1, devices, 3,
                               matches, count, nullptr, 0, DS_SELECT_ONLY, 3, 0) == 1);
    require(selections == 3 && selected >= 0 && selected <= 3);
    std::free(selection);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string text(reinterpret_cast<const char*>(data), size);
    devstat_match* matches = nullptr;
    int count = 0;
    devstat_errbuf[0] = '\0';
    const int result = devstat_buildmatch(text.data(), &matches, &count);
    if (result == 0) {
        require(count == 1);
        const auto fields = static_cast<unsigned>(matches[0].match_fields);
        require(std::popcount(fields) == matches[0].num_match_categories);
        select(matches, count);
    } else {
        require(result == -1 && count == 0 && devstat_errbuf[0] != '\0');
    }
    std::free(matches);
    return 0;
}
