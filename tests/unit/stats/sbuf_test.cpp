#include <gtest/gtest.h>
#include <sys/sbuf.h>

#include <cerrno>
#include <string>

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
