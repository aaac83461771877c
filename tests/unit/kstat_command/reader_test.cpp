// The reader over the libkstat of published.hpp. Each test sets up its chain.

#include "tools/kstat/reader.hpp"

#include <gtest/gtest.h>
#include <strings.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <system_error>

#include "published.hpp"
#include "tools/kstat/format.hpp"

namespace blkscope::kstat_command {
namespace {

class KstatReader : public testing::Test {
  protected:
    KstatReader() {
        published = Published{};
        options.selectors = {Selector{}};
    }

    static std::string shown(const Reading& kstat) {
        std::string out;
        for (const Statistic& s : kstat.statistics) {
            out += s.name + "=" + value_text(s.value) + " ";
        }
        return out;
    }

    Options options;
};

TEST_F(KstatReader, CreationAndSnapshotTimesAreAmongTheStatistics) {
    publish("dev", 0, "intr");
    const auto kstats = Reader(options).read();
    ASSERT_EQ(kstats.size(), 1u);
    EXPECT_EQ(shown(kstats[0]),
              "crtime=1.000000000 hard=1 multiple_service=5 snaptime=2.000000000 soft=2 "
              "spurious=4 watchdog=3 ");
    EXPECT_EQ(kstats[0].snaptime, 2'000'000'000);
    EXPECT_EQ(kstats[0].kstat_class, "controller");
    EXPECT_EQ(kstats[0].type, KSTAT_TYPE_INTR);
}

TEST_F(KstatReader, TheClassIsOneTooIfItIsListed) {
    publish("dev", 0, "intr");
    options.class_listed = true;
    EXPECT_TRUE(shown(Reader(options).read().at(0)).starts_with("class=controller crtime="));
}

TEST_F(KstatReader, AFailedReadLeavesTheCreationTimeAndTheClass) {
    publish("dev", 0, "intr");
    publish("dev", 0, "gone");
    published.unreadable = "gone";
    options.class_listed = true;
    const auto kstats = Reader(options).read();
    ASSERT_EQ(kstats.size(), 2u);
    EXPECT_EQ(shown(kstats[0]), "class=controller crtime=1.000000000 ");
    EXPECT_EQ(kstats[0].snaptime, 0);
}

TEST_F(KstatReader, OnlyWhatIsAskedForIsReadAndInOrder) {
    publish("z", 0, "a");
    publish("a", 10, "a");
    publish("a", 9, "a");
    publish("other", 0, "a");
    publish("a", 1, "raw", KSTAT_TYPE_RAW);
    publish("a", 1, "kstat_types");
    options.selectors = {parse_selector("z"), parse_selector("a")};
    const auto kstats = Reader(options).read();
    ASSERT_EQ(kstats.size(), 3u);
    EXPECT_EQ(kstats[0].instance, 9);
    EXPECT_EQ(kstats[1].instance, 10);
    EXPECT_EQ(kstats[2].module, "z");
    EXPECT_EQ(published.reads, 3);
}

TEST_F(KstatReader, ModulesThatDifferInCaseOnlyAreInterleavedByInstance) {
    publish("abc", 2, "x");
    publish("ABC", 1, "x");
    publish("Abc", 3, "x");
    publish("ABC", 2, "X");
    std::string order;
    for (const Reading& k : Reader(options).read()) {
        order += k.module + ":" + std::to_string(k.instance) + ":" + k.name + " ";
    }
    EXPECT_EQ(order, "ABC:1:x ABC:2:X abc:2:x Abc:3:x ");  // of equals, the last one comes first
}

// The original inserts each kstat in front of the first one that is not before it.
TEST_F(KstatReader, TheOrderIsTheOriginals) {
    const auto before = [](const Reading& one, const Reading& other) {
        const int modules = strcasecmp(one.module.c_str(), other.module.c_str());
        if (modules != 0) return modules < 0;
        if (one.instance != other.instance) return one.instance < other.instance;
        return strcasecmp(one.name.c_str(), other.name.c_str()) < 0;
    };
    std::mt19937 random(20261123);
    for (int round = 0; round < 300; ++round) {
        published = Published{};
        std::vector<Reading> order;
        for (int i = 0; i < 12; ++i) {
            const char* const modules[]{"a", "A", "ab", "AB", "b"};
            const char* const names[]{"x", "X", "xy", "Y"};
            const Reading one{.module = modules[random() % 5],
                              .instance = static_cast<int>(random() % 3),
                              .name = names[random() % 4]};
            publish(one.module.c_str(), one.instance, one.name.c_str());
            const auto at = std::ranges::find_if(
                order, [&](const Reading& other) { return !before(other, one); });
            order.insert(at, one);
        }
        const auto kstats = Reader(options).read();
        ASSERT_EQ(kstats.size(), order.size());
        for (size_t i = 0; i < order.size(); ++i) {
            ASSERT_EQ(kstats[i].module + kstats[i].name, order[i].module + order[i].name);
            ASSERT_EQ(kstats[i].instance, order[i].instance);
        }
    }
}

TEST_F(KstatReader, OpensOnceAndSeesWhatIsNew) {
    {
        Reader reader(options);
        EXPECT_EQ(reader.read().size(), 0u);
        publish("dev", 0, "intr");
        EXPECT_EQ(reader.read().size(), 1u);
        EXPECT_EQ(published.closes, 0);
    }
    EXPECT_EQ(published.opens, 1);
    EXPECT_EQ(published.closes, 1);
}

TEST_F(KstatReader, AShortageIsWaitedOut) {
    publish("dev", 0, "intr");
    published.open_errors = 1;
    EXPECT_EQ(Reader(options).read().size(), 1u);
    EXPECT_EQ(published.opens, 2);
}

TEST_F(KstatReader, AnotherErrorIsThrown) {
    Reader reader(options);
    EXPECT_EQ(reader.read().size(), 0u);
    EXPECT_FALSE(reader.is_partial());
    published.update_error = EIO;
    try {
        static_cast<void>(reader.read());
        FAIL();
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code().value(), EIO);
    }
}

TEST_F(KstatReader, WithoutDescriptorsItReadsWhatThereIsAndSaysSo) {
    publish("dev", 0, "intr");
    published.update_error = EMFILE;
    Reader reader(options);
    EXPECT_EQ(reader.read().size(), 1u);
    EXPECT_TRUE(reader.is_partial());
    published.update_error = 0;
    EXPECT_EQ(reader.read().size(), 1u);
    EXPECT_FALSE(reader.is_partial());
}

}  // namespace
}  // namespace blkscope::kstat_command
