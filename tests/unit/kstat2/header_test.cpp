#include <gtest/gtest.h>
#include <kstat2.h>

extern "C" uint64_t c99_sees_the_values(kstat2_nv_t nv);

namespace blkscope {
namespace {

TEST(Kstat2Header, IsTheSameToStrictC) {
    struct kstat2_nv nv {};
    nv.type = KSTAT2_NVVT_INT;
    nv.kstat2_integer = 5;
    EXPECT_EQ(c99_sees_the_values(&nv), 5u);
    char text[] = "a";
    char* texts[] = {text, text};
    nv.type = KSTAT2_NVVT_STRS;
    nv.kstat2_strings.array = texts;
    nv.kstat2_strings.length = 2;
    EXPECT_EQ(c99_sees_the_values(&nv), 2u);
}

// Programs that were built elsewhere rely on these.
TEST(Kstat2Header, HasTheOriginalsNumbers) {
    EXPECT_EQ(KSTAT2_S_OK, 0);
    EXPECT_EQ(KSTAT2_S_NO_PERM, 1);
    EXPECT_EQ(KSTAT2_S_NO_MEM, 2);
    EXPECT_EQ(KSTAT2_S_NO_SPACE, 3);
    EXPECT_EQ(KSTAT2_S_INVAL_ARG, 4);
    EXPECT_EQ(KSTAT2_S_INVAL_STATE, 5);
    EXPECT_EQ(KSTAT2_S_INVAL_TYPE, 6);
    EXPECT_EQ(KSTAT2_S_NOT_FOUND, 7);
    EXPECT_EQ(KSTAT2_S_CONC_MOD, 8);
    EXPECT_EQ(KSTAT2_S_DEL_MAP, 9);
    EXPECT_EQ(KSTAT2_S_SYS_FAIL, 10);
    EXPECT_EQ(KSTAT2_M_STRING, 0);
    EXPECT_EQ(KSTAT2_M_GLOB, 1);
    EXPECT_EQ(KSTAT2_M_RE, 2);
    EXPECT_EQ(KSTAT2_NVK_SYS | KSTAT2_NVK_USR << 1 | KSTAT2_NVK_MAP << 2, 1 | 4 | 16);
    EXPECT_EQ(KSTAT2_NVK_ALL, 7);
    EXPECT_EQ(KSTAT2_NVVT_MAP, 0);
    EXPECT_EQ(KSTAT2_NVVT_INT, 1);
    EXPECT_EQ(KSTAT2_NVVT_STRS, 4);
    EXPECT_EQ(KSTAT2_MT_HIST, 5);
    EXPECT_EQ(KSTAT2_NVMT_JOULE, 18);
}

TEST(Kstat2Header, LaysAValueOutAsTheOriginalDoes) {
    EXPECT_EQ(offsetof(struct kstat2_nv, type), sizeof(char*));
    EXPECT_EQ(offsetof(struct kstat2_nv, kind), sizeof(char*) + 1);
    EXPECT_EQ(offsetof(struct kstat2_nv, flags), sizeof(char*) + 2);
    EXPECT_EQ(offsetof(struct kstat2_nv, data), 2 * sizeof(char*));
}

}  // namespace
}  // namespace blkscope
