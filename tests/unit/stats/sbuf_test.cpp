#include <gtest/gtest.h>
#include <sys/sbuf.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

namespace blkscope {

namespace {

TEST(Sbuf, GrowsWithWhatIsAppended) {
    sbuf* const sb = sbuf_new_auto();
    std::string expected;
    for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ(sbuf_printf(sb, "%d,", i), 0);
        expected += std::to_string(i) + ",";
    }
    EXPECT_EQ(sbuf_cat(sb, "end"), 0);
    EXPECT_EQ(sbuf_putc(sb, ' '), 0);
    EXPECT_EQ(sbuf_trim(sb), 0);
    EXPECT_EQ(sbuf_done(sb), 0);
    EXPECT_EQ(sbuf_finish(sb), 0);
    EXPECT_EQ(sbuf_done(sb), 1);
    EXPECT_EQ(sbuf_data(sb), expected + "end");
    EXPECT_EQ(sbuf_len(sb), static_cast<ssize_t>(expected.size() + 3));
    sbuf_delete(sb);
}

TEST(Sbuf, OfAFixedSizeEndsWhereItsRoomEnds) {
    char room[8];
    sbuf sb;
    ASSERT_EQ(sbuf_new(&sb, room, sizeof room, SBUF_FIXEDLEN), &sb);
    EXPECT_EQ(sbuf_cat(&sb, "1234567"), 0);
    EXPECT_EQ(sbuf_error(&sb), 0);
    EXPECT_EQ(sbuf_putc(&sb, '8'), -1);
    EXPECT_EQ(sbuf_error(&sb), ENOMEM);
    EXPECT_EQ(sbuf_len(&sb), -1);
    EXPECT_EQ(sbuf_printf(&sb, "x"), -1);
    EXPECT_EQ(sbuf_finish(&sb), -1);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_STREQ(sbuf_data(&sb), "1234567");
    sbuf_clear(&sb);
    EXPECT_EQ(sbuf_cpy(&sb, "again"), 0);
    EXPECT_EQ(sbuf_setpos(&sb, 2), 0);
    EXPECT_EQ(sbuf_setpos(&sb, 3), -1);
    EXPECT_EQ(sbuf_finish(&sb), 0);
    EXPECT_STREQ(sbuf_data(&sb), "ag");
    sbuf_delete(&sb);
}

TEST(Sbuf, MayCountItsNul) {
    sbuf* const sb = sbuf_new_auto();
    sbuf_set_flags(sb, SBUF_INCLUDENUL);
    EXPECT_EQ(sbuf_get_flags(sb), SBUF_AUTOEXTEND | SBUF_INCLUDENUL);
    EXPECT_EQ(sbuf_bcat(sb, "ab\0c", 4), 0);
    EXPECT_EQ(sbuf_nl_terminate(sb), 0);
    EXPECT_EQ(sbuf_finish(sb), 0);
    EXPECT_EQ(sbuf_len(sb), 6);
    sbuf_clear_flags(sb, SBUF_INCLUDENUL);
    EXPECT_EQ(sbuf_len(sb), 5);
    sbuf_delete(sb);
}

TEST(Sbuf, ADrainTakesWhatThereIsNoRoomFor) {
    std::string drained;
    const auto take = [](void* arg, const char* data, int length) {
        const int part = length < 3 ? length : 3;
        static_cast<std::string*>(arg)->append(data, static_cast<size_t>(part));
        return part;
    };
    char room[8];
    sbuf sb;
    ASSERT_NE(sbuf_new(&sb, room, sizeof room, SBUF_FIXEDLEN), nullptr);
    sbuf_set_drain(&sb, take, &drained);
    EXPECT_EQ(sbuf_cat(&sb, "a text that is longer than the room"), 0);
    EXPECT_EQ(sbuf_printf(&sb, ", %s", "and more of it"), 0);
    EXPECT_EQ(sbuf_finish(&sb), 0);
    EXPECT_EQ(drained, "a text that is longer than the room, and more of it");
    sbuf_delete(&sb);
}

// A drain that keeps each of its calls apart.
int keep(void* calls, const char* data, int length) {
    static_cast<std::vector<std::string>*>(calls)->emplace_back(data, static_cast<size_t>(length));
    return length;
}

TEST(Sbuf, ADrainGetsTheFullRoomAndPrintedTextsWhole) {
    std::vector<std::string> calls;
    char room[8];
    sbuf sb;
    ASSERT_NE(sbuf_new(&sb, room, sizeof room, SBUF_FIXEDLEN), nullptr);
    sbuf_set_drain(&sb, keep, &calls);
    EXPECT_EQ(sbuf_cat(&sb, "abc"), 0);
    EXPECT_EQ(sbuf_cat(&sb, "defghij"), 0);
    EXPECT_EQ(calls, (std::vector<std::string>{"abcdefg"}));
    EXPECT_EQ(sbuf_printf(&sb, "%d", 12345), 0);
    EXPECT_EQ(calls.back(), "hij");
    EXPECT_EQ(sbuf_finish(&sb), 0);
    EXPECT_EQ(calls.back(), "12345");
    sbuf_delete(&sb);
}

TEST(Sbuf, ADrainGetsTheNulThatTheTextIncludes) {
    std::vector<std::string> calls;
    sbuf* const sb = sbuf_new(nullptr, nullptr, 8, SBUF_INCLUDENUL);
    sbuf_set_drain(sb, keep, &calls);
    EXPECT_EQ(sbuf_cat(sb, "abc"), 0);
    EXPECT_EQ(sbuf_finish(sb), 0);
    EXPECT_EQ(calls, std::vector<std::string>{std::string("abc", 4)});
    sbuf_delete(sb);
}

TEST(Sbuf, TheNulIsCountedBeforeTheEndToo) {
    sbuf* const sb = sbuf_new(nullptr, nullptr, 8, SBUF_INCLUDENUL);
    EXPECT_EQ(sbuf_cat(sb, "abc"), 0);
    EXPECT_EQ(sbuf_len(sb), 4);
    sbuf_delete(sb);
}

TEST(Sbuf, OfAFixedSizeIsAsLargeAsAsked) {
    sbuf* const sb = sbuf_new(nullptr, nullptr, 4, SBUF_FIXEDLEN);
    EXPECT_EQ(sbuf_cat(sb, "abcd"), -1);
    EXPECT_EQ(sbuf_finish(sb), -1);
    EXPECT_STREQ(sbuf_data(sb), "abc");
    sbuf_delete(sb);
}

TEST(Sbuf, ASectionHasALengthAndMayBePadded) {
    sbuf* const sb = sbuf_new_auto();
    ssize_t outer = 0;
    ssize_t inner = 0;
    EXPECT_EQ(sbuf_cat(sb, "head:"), 0);
    sbuf_start_section(sb, &outer);
    EXPECT_EQ(outer, -1);
    EXPECT_EQ(sbuf_printf(sb, "%d", 12), 0);
    sbuf_start_section(sb, &inner);
    EXPECT_EQ(sbuf_cat(sb, "abcde  "), 0);
    EXPECT_EQ(sbuf_trim(sb), 0);
    EXPECT_EQ(sbuf_end_section(sb, inner, 4, '.'), 8);
    EXPECT_EQ(sbuf_end_section(sb, outer, 5, '-'), 10);
    sbuf_start_section(sb, nullptr);
    EXPECT_EQ(sbuf_end_section(sb, -1, 8, 'x'), 0);
    EXPECT_EQ(sbuf_finish(sb), 0);
    EXPECT_STREQ(sbuf_data(sb), "head:12abcde...");
    sbuf_delete(sb);
}

TEST(Sbuf, ASectionAfterAnErrorHasNoLength) {
    char room[4];
    sbuf sb;
    ASSERT_NE(sbuf_new(&sb, room, sizeof room, SBUF_FIXEDLEN), nullptr);
    sbuf_start_section(&sb, nullptr);
    EXPECT_EQ(sbuf_cat(&sb, "abcd"), -1);
    EXPECT_EQ(sbuf_end_section(&sb, -1, 16, 0), -1);
    sbuf_delete(&sb);
}

// A drain that must not see half a record.
TEST(Sbuf, WholeRecordsAreDrainedUpToTheSectionThatIsOpen) {
    std::vector<std::string> calls;
    sbuf* const sb = sbuf_new(nullptr, nullptr, 10, SBUF_DRAINTOEOR);
    sbuf_set_drain(sb, keep, &calls);
    for (const char* record : {"one;", "two;", "three;"}) {
        sbuf_start_section(sb, nullptr);
        EXPECT_EQ(sbuf_cat(sb, record), 0);
        EXPECT_GT(sbuf_end_section(sb, -1, 0, 0), 0);
    }
    EXPECT_EQ(calls, (std::vector<std::string>{"one;two;"}));
    sbuf_start_section(sb, nullptr);
    EXPECT_EQ(sbuf_cat(sb, "longer than the room"), -1);
    EXPECT_EQ(calls.back(), "three;");
    EXPECT_EQ(sbuf_error(sb), EDEADLK);
    sbuf_delete(sb);
}

std::string dumped(const void* bytes, int length, const char* header, int flags) {
    sbuf* const sb = sbuf_new_auto();
    sbuf_hexdump(sb, bytes, length, header, flags);
    EXPECT_EQ(sbuf_finish(sb), 0);
    std::string text = sbuf_data(sb);
    sbuf_delete(sb);
    return text;
}

TEST(Sbuf, AHexdumpIsThatOfFreeBsd) {
    EXPECT_EQ(dumped("0123456789abcdef\x7f\n~", 19, nullptr, 0),
              "0000   30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  |0123456789abcdef|\n"
              "0010   7f 0a 7e                                         |..~             |\n");
    EXPECT_EQ(dumped("abcde", 5, "> ", 4 | ':' << 8),
              "> 0000  :61:62:63:64  |abcd|\n> 0004  :65           |e   |\n");
    EXPECT_EQ(dumped("ab", 2, nullptr, 4 | HD_OMIT_COUNT | HD_OMIT_CHARS), " 61 62      \n");
    EXPECT_EQ(dumped("ab", 2, "", HD_OMIT_COUNT | HD_OMIT_HEX), "  |ab              |\n");
    EXPECT_EQ(dumped("", 0, "x", 0), "");
}

TEST(Sbuf, MayBeDrainedIntoACount) {
    size_t count = 5;
    sbuf* const sb = sbuf_new(nullptr, nullptr, 8, SBUF_FIXEDLEN);
    sbuf_set_drain(sb, sbuf_count_drain, &count);
    EXPECT_EQ(sbuf_cat(sb, "0123456789"), 0);
    EXPECT_EQ(sbuf_finish(sb), 0);
    EXPECT_EQ(count, 15u);
    sbuf_delete(sb);
}

TEST(Sbuf, MayBeWrittenToStandardOutput) {
    size_t count = 0;
    testing::internal::CaptureStdout();
    for (size_t* const counted : {&count, static_cast<size_t*>(nullptr)}) {
        sbuf* const sb = sbuf_new(nullptr, nullptr, 4, SBUF_FIXEDLEN);
        sbuf_set_drain(sb, sbuf_printf_drain, counted);
        EXPECT_EQ(sbuf_cat(sb, "drained "), 0);
        EXPECT_EQ(sbuf_finish(sb), 0);
        sbuf_delete(sb);
    }
    sbuf* const sb = sbuf_new(nullptr, nullptr, 16, SBUF_NOWAIT);
    EXPECT_EQ(sbuf_cat(sb, "put"), 0);
    EXPECT_EQ(sbuf_finish(sb), 0);
    sbuf_putbuf(sb);
    sbuf_delete(sb);
    std::fflush(stdout);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "drained drained put");
    EXPECT_EQ(count, 8u);
}

TEST(Sbuf, TheErrorOfADrainSticks) {
    const auto fail = [](void*, const char*, int) { return -EPIPE; };
    sbuf* const sb = sbuf_new(nullptr, nullptr, 16, SBUF_FIXEDLEN);
    sbuf_set_drain(sb, fail, nullptr);
    EXPECT_EQ(sbuf_cat(sb, "a text that is longer than the room"), -1);
    EXPECT_EQ(sbuf_error(sb), EPIPE);
    EXPECT_EQ(sbuf_finish(sb), -1);
    sbuf_delete(sb);
}

}  // namespace

}  // namespace blkscope
