// The screen of blkscope explain.
#include "tools/blkscope/explain.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "../failure.hpp"

namespace blkscope {
namespace {

StageTime stage(uint64_t mean_us) {
    return {.count = 1000, .sum_ns = mean_us * 1'000'000, .p99_ns = 2000 * mean_us};
}

Explanation balanced() {
    return {.device = "nbd0",
            .backing = "/srv/disk.img",
            .interval_s = 1,
            .receive = stage(10),
            .wait = stage(20),
            .service = stage(40),
            .reply = stage(5)};
}

std::string sentence_of(const Explanation& what) {
    const std::string text = explanation_text(what);
    return text.substr(text.rfind("\n", text.size() - 2) + 1);
}

TEST(Explain, IsOneScreenAndOneSentence) {
    Explanation what = balanced();
    what.disk = DiskTime{.name = "vda", .requests = 2000, .ms = 30};
    EXPECT_EQ(explanation_text(what),
              "nbd0, /srv/disk.img: 1000 reads and writes in 1.0 s\n"
              "\n"
              "  stage               mean  share\n"
              "  receive          10.0 us  13.3 %  ####                           p99 20.0 us\n"
              "  wait             20.0 us  26.7 %  ########                       p99 40.0 us\n"
              "  service          40.0 us  53.3 %  ################               p99 80.0 us\n"
              "    vda            30.0 us  40.0 %  ############                   \n"
              "    rest           10.0 us  13.3 %  ####                           \n"
              "  reply             5.0 us   6.7 %  ##                             p99 10.0 us\n"
              "\n"
              "Most of the time, 40 %, is disk: the disk vda itself is the largest part; only a "
              "faster disk, or fewer requests for it, would change it.\n");
}

TEST(Explain, AServerThatIsLateItselfIsToldOf) {
    Explanation what = balanced();
    what.late = "the server itself ended requests late";
    EXPECT_NE(explanation_text(what).find("nbd0: the server itself ended requests late.\n"),
              std::string::npos);
}

TEST(Explain, ADiskWithFewerRequestsThanTheDeviceIsThePageCache) {
    Explanation what = balanced();
    what.disk = DiskTime{.name = "vda", .requests = 999, .ms = 30};
    EXPECT_NE(explanation_text(what).find("page cache   vda saw 999 requests"), std::string::npos);
    EXPECT_NE(sentence_of(what).find("53 %, is service: most of it never reached the disk"),
              std::string::npos);
}

TEST(Explain, TheDiskIsNoMoreThanItsService) {
    Explanation what = balanced();
    what.disk = DiskTime{.name = "vda", .requests = 5000, .ms = 99'999};
    EXPECT_NE(explanation_text(what).find("rest            0.0 us"), std::string::npos)
        << explanation_text(what);
}

TEST(Explain, EachPartHasItsAdvice) {
    Explanation what = balanced();
    what.wait = stage(900);
    EXPECT_NE(sentence_of(what).find("is wait: requests wait for a place"), std::string::npos);
    what.limited = true;
    EXPECT_NE(sentence_of(what).find("is wait: the limits"), std::string::npos);
    what.receive = stage(5000);
    EXPECT_NE(sentence_of(what).find("is receive: "), std::string::npos);
    what.reply = stage(9000);
    EXPECT_NE(sentence_of(what).find("is reply: clients take"), std::string::npos);
    what.service = stage(20'000);
    EXPECT_NE(sentence_of(what).find("is service: it is the file system"), std::string::npos);
    what.backing = "memory";
    EXPECT_NE(sentence_of(what).find("is service: it is the copy"), std::string::npos);
    what.faulted = true;
    EXPECT_NE(sentence_of(what).find("is service: a fault rule has struck"), std::string::npos);
    what.modelled = true;
    EXPECT_NE(sentence_of(what).find("is service: the device has a model"), std::string::npos);
}

TEST(Explain, AnUpstreamIsNoDiskAndSaysWhetherItIsThere) {
    Explanation what = balanced();
    what.upstream = UpstreamState{.word = "connected"};
    EXPECT_NE(explanation_text(what).find("\n    upstream     connected\n"), std::string::npos);
    EXPECT_NE(sentence_of(what).find("is service: it is the upstream and the way there"),
              std::string::npos);
    what.upstream->reconnects = 2;
    EXPECT_NE(
        explanation_text(what).find("\n    upstream     connected, connected again 2 times\n"),
        std::string::npos);
    what.upstream->word = "waiting";  // since the end of the interval, perhaps
    EXPECT_NE(explanation_text(what).find("\n    upstream     waiting, connected again 2 times\n"),
              std::string::npos);
    EXPECT_NE(sentence_of(what).find("is service: it is the upstream and the way there"),
              std::string::npos);
    what.upstream->word = "changed";
    EXPECT_EQ(sentence_of(what), "The upstream has changed: all requests fail until a reload.\n");
}

TEST(Explain, WithoutAnEndedRequestItSaysWhatIsUnderWayAndHowTheUpstreamIs) {
    Explanation what = balanced();
    what.service = {};
    EXPECT_EQ(sentence_of(what),
              "There were no reads or writes to explain. 'blkscope slow' shows all that is under "
              "way, with flushes.\n");
    what.under_way = 16;
    EXPECT_EQ(sentence_of(what),
              "No read or write has ended, and 16 are under way. 'blkscope slow' shows all that is "
              "under way, with flushes.\n");
    what.under_way = 1;
    what.upstream = UpstreamState{.word = "waiting", .reconnects = 1};
    EXPECT_EQ(sentence_of(what),
              "No read or write has ended, and 1 is under way. The upstream is waiting, connected "
              "again once. 'blkscope slow' shows all that is under way, with flushes.\n");
}

TEST(Explain, WithoutRequestsThereIsNothingToExplain) {
    EXPECT_NE(explanation_text({.device = "nbd0", .backing = "memory:1M"})
                  .find("There were no reads or writes to explain."),
              std::string::npos);
}

iostat::Device device_of(int provider) {
    iostat::Device device;
    device.name = "nbd0";
    device.provider = provider;
    device.at_provider = "@" + std::to_string(provider);
    return device;
}

TEST(Explain, OfDevicesOfOneNameTheProviderChooses) {
    std::vector<iostat::Device> devices{device_of(12), device_of(34)};
    choose(devices, "nbd0@34");
    ASSERT_EQ(devices.size(), 1u);
    EXPECT_EQ(devices[0].provider, 34);
    choose(devices, "nbd0");
    EXPECT_EQ(devices.size(), 1u);
    EXPECT_THROW(choose(devices, "nbd0@12"), std::runtime_error);
}

TEST(Explain, OfDevicesOfOneNameNoneIsTakenAtRandom) {
    std::vector<iostat::Device> devices{device_of(12), device_of(34)};
    EXPECT_EQ(failure_of<std::runtime_error>([&] { choose(devices, "nbd0"); }),
              "explain: there are several devices 'nbd0': name nbd0@12 or nbd0@34");
}

TEST(Explain, ADisksTimeGoesOnWhereTheKernelsWraps) {
    const DiskTime before{.name = "vda", .requests = 10, .ms = 4'294'967'290 + 100};
    const auto time = since(before, DiskTime{.name = "vda", .requests = 30, .ms = 14 + 120});
    ASSERT_TRUE(time);
    EXPECT_EQ(time->requests, 20u);
    EXPECT_EQ(time->ms, 40u);
}

TEST(Explain, ADiskThatWasReplacedHasNoFigures) {
    const DiskTime before{.name = "vda", .requests = 10, .ms = 100};
    EXPECT_FALSE(since(before, DiskTime{.name = "vda", .requests = 3, .ms = 5}));
    EXPECT_FALSE(since(before, std::nullopt));
    EXPECT_FALSE(since(std::nullopt, before));
}

TEST(Explain, NamesTheClientThatHasTheDiskAndTheCure) {
    Explanation what = balanced();
    what.wait = stage(900);
    what.busy_client = BusyClient{.text = "client-2, fio (process 7 of user 0),", .share = 0.99};
    EXPECT_NE(sentence_of(what).find("wait: client-2, fio (process 7 of user 0), has 99 % of the "
                                     "disk, and the others wait behind its requests; "
                                     "'blkscope set nbd0 order=fair'"),
              std::string::npos)
        << sentence_of(what);
}

}  // namespace
}  // namespace blkscope
