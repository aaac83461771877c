#include "tools/kstat2/units.hpp"

#include <gtest/gtest.h>

namespace blkscope::kstat2_command {
namespace {

constexpr uint64_t ns_per_s = 1'000'000'000;

struct UnitCase {
    uint64_t raw;
    Meaning meaning;
    const char* text;
};

class Kstat2Units : public testing::TestWithParam<UnitCase> {};

TEST_P(Kstat2Units, ArePutBehindWhatTheNumberMeans) {
    EXPECT_EQ(in_units(GetParam().raw, GetParam().meaning), GetParam().text);
}

Meaning ns(uint16_t type) {
    return {type, KSTAT2_NVMF_FRACT, ns_per_s};
}

INSTANTIATE_TEST_SUITE_P(
    All, Kstat2Units,
    testing::Values(
        UnitCase{1'500'000, ns(KSTAT2_NVMT_T_ACC), "1.5 ms"},
        UnitCase{999, ns(KSTAT2_NVMT_T_ACC), "999 ns"},
        UnitCase{1'000, ns(KSTAT2_NVMT_T_ACC), "1 us"}, UnitCase{0, ns(KSTAT2_NVMT_T_ACC), "0 s"},
        UnitCase{7'200 * ns_per_s, ns(KSTAT2_NVMT_T_REL), "7200 s"},
        UnitCase{250, {KSTAT2_NVMT_T_REL, KSTAT2_NVMF_FRACT, 1'000'000}, "250 us"},
        UnitCase{0, {KSTAT2_NVMT_T_EPOCH}, "1970-01-01T00:00:00Z"},
        UnitCase{
            UINT64_MAX, {KSTAT2_NVMT_T_EPOCH, KSTAT2_NVMF_NONE, 1'000'000}, "1.844674407e+25 s"},
        UnitCase{3, {KSTAT2_NVMT_BYTES, KSTAT2_NVMF_NONE, 4096}, "12 KiB"},
        UnitCase{1023, {KSTAT2_NVMT_BYTES}, "1023 B"}, UnitCase{0, {KSTAT2_NVMT_BYTES}, "0 B"},
        UnitCase{uint64_t{3} << 40, {KSTAT2_NVMT_BYTES}, "3 TiB"},
        UnitCase{UINT64_MAX, {KSTAT2_NVMT_BYTES}, "16 EiB"},
        UnitCase{1'000'000, {KSTAT2_NVMT_BITS}, "1 Mbit"},
        UnitCase{2'400'000, {KSTAT2_NVMT_FREQ, KSTAT2_NVMF_NONE, 1000}, "2.4 GHz"},
        UnitCase{3300, {KSTAT2_NVMT_VOLT, KSTAT2_NVMF_FRACT, 1000}, "3.3 V"},
        UnitCase{5, {KSTAT2_NVMT_WATT}, "5 W"},
        UnitCase{20, {KSTAT2_NVMT_CURR, KSTAT2_NVMF_FRACT, 1000}, "20 mA"},
        UnitCase{2500, {KSTAT2_NVMT_JOULE}, "2.5 kJ"}, UnitCase{97, {KSTAT2_NVMT_PCT}, "97 %"},
        UnitCase{355, {KSTAT2_NVMT_TEMP_C, KSTAT2_NVMF_FRACT, 10}, "35.5 C"},
        UnitCase{1200, {KSTAT2_NVMT_RPM}, "1200 rpm"}, UnitCase{255, {KSTAT2_NVMT_FLAGS}, "0xff"},
        UnitCase{4096, {KSTAT2_NVMT_ADDR}, "0x1000"},
        UnitCase{UINT64_MAX, {KSTAT2_NVMT_CNT}, "18446744073709551615"},
        UnitCase{7, {KSTAT2_NVMT_STATE}, "7"}, UnitCase{7, {KSTAT2_NVMT_ID}, "7"},
        UnitCase{7, {99}, "7"}));

TEST(Kstat2Metadata, IsTypeFlagsAndScale) {
    EXPECT_EQ(metadata_text({KSTAT2_NVMT_CNT}), "cnt,1");
    EXPECT_EQ(metadata_text(ns(KSTAT2_NVMT_T_ACC)), "t_acc,fract,1000000000");
    EXPECT_EQ(metadata_text({KSTAT2_NVMT_BYTES, KSTAT2_NVMF_LIMIT, 512}), "bytes,limit,512");
    EXPECT_EQ(metadata_text({99}), "99,1");
}

}  // namespace
}  // namespace blkscope::kstat2_command
