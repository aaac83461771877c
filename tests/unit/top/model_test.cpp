#include "tools/top/model.hpp"

#include <gtest/gtest.h>

#include "looks.hpp"

namespace blkscope::top {
namespace {

std::vector<std::string> names(const std::vector<const Tracked*>& devices) {
    std::vector<std::string> names;
    for (const Tracked* tracked : devices) names.push_back(tracked->name());
    return names;
}

TEST(TopModel, TheFirstLookIsOfTheTimeSinceTheCreation) {
    DeviceLook nbd0 = idle_look("nbd0");
    do_reads(nbd0, 1000, 0, 0);  // in the 100 s since it was created
    Model model;
    model.take(look_at(first_look, {nbd0}));
    ASSERT_EQ(model.devices().size(), 1u);
    EXPECT_TRUE(model.devices()[0].since_creation);
    EXPECT_DOUBLE_EQ(model.devices()[0].figures.reads, 10);
    EXPECT_EQ(model.devices()[0].history.size(), 0u);
}

TEST(TopModel, TheNextIsOfTheIntervalBetweenThem) {
    DeviceLook nbd0 = idle_look("nbd0");
    do_reads(nbd0, 1000, 2'000, 20'000);
    Model model;
    model.take(look_at(first_look, {nbd0}));
    do_reads(nbd0, 50, 200'000, 20'000);
    model.take(look_at(first_look + one_second, {nbd0}));
    const Tracked& tracked = model.devices()[0];
    EXPECT_FALSE(tracked.since_creation);
    EXPECT_DOUBLE_EQ(tracked.figures.reads, 50);
    EXPECT_DOUBLE_EQ(tracked.figures.wsvc_t, 0.2);
    ASSERT_EQ(tracked.history.size(), 1u);
    const Column& column = tracked.history.ago(0);
    EXPECT_EQ(column.elapsed_ns, one_second);
    EXPECT_EQ(column.wait, (std::vector<uint64_t>{0, 0, 0, 50}));
    EXPECT_EQ(column.service, (std::vector<uint64_t>{0, 0, 50}));
}

TEST(TopModel, ADeviceThatComesHasDoneAllOfItSince) {
    Model model;
    model.take(look_at(first_look, {idle_look("nbd0")}));
    DeviceLook young = idle_look("nbd1");
    young.device.crtime = first_look + 1;
    young.latencies.crtime = first_look + 2;
    do_reads(young, 3, 2'000, 2'000);
    model.take(look_at(first_look + one_second, {idle_look("nbd0"), young}));
    EXPECT_EQ(model.devices()[1].history.ago(0).wait[1], 3u);
    EXPECT_EQ(model.message(), "disk added: nbd1");
    EXPECT_EQ(model.news(), "disk added: nbd1");
}

TEST(TopModel, OfAnOldDeviceThatAppearsItIsNotKnownWhatItDidWhen) {
    Model model;
    model.take(look_at(first_look, {}));
    DeviceLook old = idle_look("nbd0");
    do_reads(old, 3, 2'000, 2'000);
    model.take(look_at(first_look + one_second, {old}));
    EXPECT_EQ(model.devices()[0].history.ago(0).bounds, nullptr);
}

TEST(TopModel, ADeviceThatWasMadeAnewBeginsAtZero) {
    DeviceLook nbd0 = idle_look("nbd0");
    do_reads(nbd0, 1000, 2'000, 2'000);
    Model model;
    model.take(look_at(first_look, {nbd0}));
    DeviceLook anew = idle_look("nbd0");
    anew.device.crtime = first_look + one_second / 2;
    anew.latencies.crtime = anew.device.crtime;
    do_reads(anew, 4, 2'000, 2'000);
    model.take(look_at(first_look + one_second, {anew}));
    EXPECT_DOUBLE_EQ(model.devices()[0].figures.reads, 8);  // 4 in half a second
    EXPECT_TRUE(model.devices()[0].since_creation);
    EXPECT_EQ(model.devices()[0].history.ago(0).wait[1], 4u);
    EXPECT_EQ(model.news(), "disk removed: nbd0; disk added: nbd0");
}

TEST(TopModel, TwoProvidersMayPublishOneName) {
    DeviceLook one = idle_look("nbd0");
    DeviceLook other = idle_look("nbd0");
    one.device.kid = 7;
    other.device.kid = 8;
    Model model;
    model.take(look_at(first_look, {one, other}));
    ASSERT_EQ(model.devices().size(), 2u);
    do_reads(other, 4, 2'000, 2'000);
    model.take(look_at(first_look + one_second, {one, other}));
    ASSERT_EQ(model.devices().size(), 2u);
    EXPECT_DOUBLE_EQ(model.devices()[0].figures.reads + model.devices()[1].figures.reads, 4);
    model.take(look_at(first_look + 2 * one_second, {other}));
    ASSERT_EQ(model.devices().size(), 2u);
    EXPECT_NE(model.devices()[0].is_gone(), model.devices()[1].is_gone());
}

TEST(TopModel, ADeviceThatWasMadeAnewKeepsItsRow) {
    DeviceLook nbd0 = idle_look("nbd0");
    nbd0.device.kid = 7;
    Model model;
    model.take(look_at(first_look, {nbd0}));
    nbd0.device.kid = 9;
    nbd0.device.crtime = first_look + one_second / 2;
    model.take(look_at(first_look + one_second, {nbd0}));
    ASSERT_EQ(model.devices().size(), 1u);
    EXPECT_FALSE(model.devices()[0].is_gone());
}

TEST(TopModel, HistogramsThatAreSwitchedOffAndOnBeginAtZero) {
    DeviceLook nbd0 = idle_look("nbd0");
    do_reads(nbd0, 5, 2'000, 2'000);
    Model model;
    model.take(look_at(first_look, {nbd0}));
    DeviceLook off = nbd0;
    off.latencies = {};
    model.take(look_at(first_look + one_second, {off}));
    EXPECT_EQ(model.devices()[0].history.ago(0).bounds, nullptr);
    nbd0.latencies.crtime = first_look + one_second + 1;
    nbd0.latencies.wait[1] = 2;
    model.take(look_at(first_look + 2 * one_second, {nbd0}));
    EXPECT_EQ(model.devices()[0].history.ago(0).wait[1], 2u);
}

TEST(TopModel, ADeviceThatWentIsShownForTenLooksAndThenForgotten) {
    Model model;
    model.take(look_at(first_look, {idle_look("nbd0"), idle_look("nbd1")}));
    hrtime_t now = first_look;
    for (int i = 0; i < Model::looks_kept; ++i) {
        model.take(look_at(now += one_second, {idle_look("nbd0")}));
        EXPECT_EQ(model.message(), "disk removed: nbd1");
        ASSERT_EQ(model.devices().size(), 2u);
        EXPECT_TRUE(model.devices()[1].is_gone());
    }
    model.take(look_at(now += one_second, {idle_look("nbd0")}));
    EXPECT_EQ(model.devices().size(), 1u);
}

TEST(TopModel, ADeviceThatComesBackGoesOnWithItsHistory) {
    DeviceLook nbd0 = idle_look("nbd0");
    Model model;
    model.take(look_at(first_look, {nbd0}));
    model.take(look_at(first_look + one_second, {}));
    do_reads(nbd0, 5, 2'000, 2'000);
    model.take(look_at(first_look + 2 * one_second, {nbd0}));
    const Tracked& tracked = model.devices()[0];
    EXPECT_FALSE(tracked.is_gone());
    ASSERT_EQ(tracked.history.size(), 2u);
    EXPECT_EQ(tracked.history.ago(1).bounds, nullptr);
    EXPECT_EQ(tracked.history.ago(0).wait[1], 5u);
}

TEST(TopModel, ADeviceIsStuckWhenWhatItServesDoesNotEnd) {
    DeviceLook nbd0 = idle_look("nbd0");
    Model model;
    model.take(look_at(first_look, {nbd0}));
    nbd0.device.io.rlentime += one_second;
    nbd0.device.io.rtime += one_second;
    model.take(look_at(first_look + one_second, {nbd0}));
    EXPECT_TRUE(model.devices()[0].is_stuck());
    do_reads(nbd0, 1, 0, 0);
    nbd0.device.io.rlentime += one_second;
    nbd0.device.io.rtime += one_second;
    model.take(look_at(first_look + 2 * one_second, {nbd0}));
    EXPECT_FALSE(model.devices()[0].is_stuck());
}

TEST(TopModel, AMessageIsShownForAWhile) {
    Model model;
    model.tell("something");
    for (int i = 0; i < 10; ++i) {
        model.take(look_at(first_look + i, {}));
        EXPECT_EQ(model.message(), "something") << i;
    }
    model.take(look_at(first_look + 10, {}));
    EXPECT_EQ(model.message(), "");
}

TEST(TopModel, DevicesAreInTheOrderOfTheirNumbers) {
    Model model;
    model.take(look_at(first_look, {idle_look("nbd10"), idle_look("nbd9")}));
    EXPECT_EQ(names(sorted_devices(model, SortKey::name)),
              (std::vector<std::string>{"nbd9", "nbd10"}));
}

TEST(TopModel, SortedByAFigureTheLargestIsFirstAndNamesDecideBetweenEquals) {
    DeviceLook fast = idle_look("nbd2");
    DeviceLook slow = idle_look("nbd3");
    Model model;
    model.take(look_at(first_look, {idle_look("nbd0"), idle_look("nbd1"), fast, slow}));
    do_reads(fast, 100, 0, 1'000);
    do_reads(slow, 10, 5'000, 10'000'000);
    model.take(
        look_at(first_look + one_second, {idle_look("nbd0"), idle_look("nbd1"), fast, slow}));
    using Names = std::vector<std::string>;
    EXPECT_EQ(names(sorted_devices(model, SortKey::transfers)),
              (Names{"nbd2", "nbd3", "nbd0", "nbd1"}));
    EXPECT_EQ(names(sorted_devices(model, SortKey::asvc_t)),
              (Names{"nbd3", "nbd2", "nbd0", "nbd1"}));
    EXPECT_EQ(names(sorted_devices(model, SortKey::busy)), (Names{"nbd3", "nbd2", "nbd0", "nbd1"}));
    EXPECT_EQ(names(sorted_devices(model, SortKey::wsvc_t)),
              (Names{"nbd3", "nbd0", "nbd1", "nbd2"}));
}

TEST(TopModel, ThoseThatAreGoneComeLast) {
    Model model;
    model.take(look_at(first_look, {idle_look("nbd0"), idle_look("nbd1")}));
    model.take(look_at(first_look + one_second, {idle_look("nbd1")}));
    EXPECT_EQ(names(sorted_devices(model, SortKey::name)),
              (std::vector<std::string>{"nbd1", "nbd0"}));
}

TEST(TopModel, TheSortKeysGoRoundAndHaveTheNamesOfTheirColumns) {
    std::vector<std::string> texts;
    SortKey key = SortKey::name;
    do {
        texts.emplace_back(sort_key_text(key));
        key = next_sort_key(key);
    } while (key != SortKey::name);
    EXPECT_EQ(texts,
              (std::vector<std::string>{"name", "r/s+w/s", "wait", "wsvc_t", "asvc_t", "%b"}));
}

}  // namespace
}  // namespace blkscope::top
