#include "tools/kstat2/units.hpp"

#include <gtest/gtest.h>

namespace blkscope::kstat2_command {
namespace {

constexpr uint64_t ns_per_s = 1'000'000'000;

struct Case {
    uint64_t raw;
    Meaning meaning;
    const char* text;
};

class Kstat2Units : public testing::TestWithParam<Case> {};

TEST_P(Kstat2Units, ArePutBehindWhatTheNumberMeans) {
    EXPECT_EQ(in_units(GetParam().raw, GetParam().meaning), GetParam().text);
}

Meaning ns(uint16_t type) {
    return {type, KSTAT2_NVMF_FRACT, ns_per_s};
}

INSTANTIATE_TEST_SUITE_P(
    All, Kstat2Units,
    testing::Values(
        Case{1'500'000, ns(KSTAT2_NVMT_T_ACC), "1.5 ms"},
        Case{999, ns(KSTAT2_NVMT_T_ACC), "999 ns"}, Case{1'000, ns(KSTAT2_NVMT_T_ACC), "1 us"},
        Case{0, ns(KSTAT2_NVMT_T_ACC), "0 s"},
        Case{7'200 * ns_per_s, ns(KSTAT2_NVMT_T_REL), "7200 s"},
        Case{250, {KSTAT2_NVMT_T_REL, KSTAT2_NVMF_FRACT, 1'000'000}, "250 us"},
        Case{0, {KSTAT2_NVMT_T_EPOCH}, "1970-01-01T00:00:00Z"},
        Case{UINT64_MAX, {KSTAT2_NVMT_T_EPOCH, KSTAT2_NVMF_NONE, 1'000'000}, "1.844674407e+25 s"},
        Case{3, {KSTAT2_NVMT_BYTES, KSTAT2_NVMF_NONE, 4096}, "12 KiB"},
        Case{1023, {KSTAT2_NVMT_BYTES}, "1023 B"}, Case{0, {KSTAT2_NVMT_BYTES}, "0 B"},
        Case{uint64_t{3} << 40, {KSTAT2_NVMT_BYTES}, "3 TiB"},
        Case{UINT64_MAX, {KSTAT2_NVMT_BYTES}, "16 EiB"},
        Case{1'000'000, {KSTAT2_NVMT_BITS}, "1 Mbit"},
        Case{2'400'000, {KSTAT2_NVMT_FREQ, KSTAT2_NVMF_NONE, 1000}, "2.4 GHz"},
        Case{3300, {KSTAT2_NVMT_VOLT, KSTAT2_NVMF_FRACT, 1000}, "3.3 V"},
        Case{5, {KSTAT2_NVMT_WATT}, "5 W"},
        Case{20, {KSTAT2_NVMT_CURR, KSTAT2_NVMF_FRACT, 1000}, "20 mA"},
        Case{2500, {KSTAT2_NVMT_JOULE}, "2.5 kJ"}, Case{97, {KSTAT2_NVMT_PCT}, "97 %"},
        Case{355, {KSTAT2_NVMT_TEMP_C, KSTAT2_NVMF_FRACT, 10}, "35.5 C"},
        Case{1200, {KSTAT2_NVMT_RPM}, "1200 rpm"}, Case{255, {KSTAT2_NVMT_FLAGS}, "0xff"},
        Case{4096, {KSTAT2_NVMT_ADDR}, "0x1000"},
        Case{UINT64_MAX, {KSTAT2_NVMT_CNT}, "18446744073709551615"},
        Case{7, {KSTAT2_NVMT_STATE}, "7"}, Case{7, {KSTAT2_NVMT_ID}, "7"}, Case{7, {99}, "7"}));

TEST(Kstat2Metadata, IsTypeFlagsAndScale) {
    EXPECT_EQ(metadata_text({KSTAT2_NVMT_CNT}), "cnt,1");
    EXPECT_EQ(metadata_text(ns(KSTAT2_NVMT_T_ACC)), "t_acc,fract,1000000000");
    EXPECT_EQ(metadata_text({KSTAT2_NVMT_BYTES, KSTAT2_NVMF_LIMIT, 512}), "bytes,limit,512");
    EXPECT_EQ(metadata_text({99}), "99,1");
}

}  // namespace
}  // namespace blkscope::kstat2_command
