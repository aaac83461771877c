// The stays of requests, by a model.
#include "blockdev/model/service_model.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace blkscope::model {
namespace {

constexpr uint64_t model_bytes = uint64_t{1} << 30;

struct Request : Buf {
    explicit Request(Op what, uint64_t bytes = 4096) {
        op = what;
        bcount = bytes;
    }
};

ServiceModel model_of(const char* text, uint32_t depth = 4) {
    return {ModelSpec::parse(text, nullptr), model_bytes, depth, 1};
}

TEST(ServiceModel, AnOperationWithoutATimeTakesNoServer) {
    ServiceModel model = model_of("read=const:1ms");
    const Stay stay = model.start(Request(Buf::Op::write), 7);
    EXPECT_EQ(stay.server, ServiceModel::no_server);
    EXPECT_EQ(stay.end, 7);
    EXPECT_EQ(model.counts().drawn, 0U);
    EXPECT_EQ(model.start(Request(Buf::Op::read), 5).end, 1'000'005);
    EXPECT_EQ(model.counts().drawn, 1U);
}

TEST(ServiceModel, AFaultsDelayIsAddedToTheDraw) {
    ServiceModel model = model_of("read=const:1ms,servers=1");
    EXPECT_EQ(model.start(Request(Buf::Op::read), 0, 500).end, 1'000'500);
    const auto alone = model.start(Request(Buf::Op::write), 0, 500);
    EXPECT_EQ(alone.end, 500);  // the delay is all
    EXPECT_EQ(alone.server, ServiceModel::no_server);
    EXPECT_EQ(model.start(Request(Buf::Op::read), 0).begin, 1'000'500);
}

TEST(ServiceModel, EachByteOfAReadOrWriteTakesItsTime) {
    ServiceModel model = model_of("all=const:1us,per_byte=0.5ns");
    EXPECT_EQ(model.start(Request(Buf::Op::read, 4096), 0).end, 1000 + 2048);
    EXPECT_EQ(model.start(Request(Buf::Op::trim, 1 << 20), 0).end, 1000);
}

TEST(ServiceModel, AForcedWriteTakesAFlushsDrawToo) {
    ServiceModel model = model_of("write=const:1ms,flush=const:3ms");
    Request forced(Buf::Op::write);
    forced.fua = true;
    EXPECT_EQ(model.start(forced, 0).end, 4'000'000);
    ServiceModel without = model_of("write=const:1ms");
    EXPECT_EQ(without.start(forced, 0).end, 1'000'000);
}

// The model of a second device draws what the first one would have drawn next, and so for its head.
TEST(ServiceModel, GoesOnWhereAnotherOneIs) {
    for (const char* text : {"all=exp:1ms,servers=1", "hdd7200,flush=exp:1ms"}) {
        ServiceModel first = model_of(text);
        Request read(Buf::Op::read);
        Request flush(Buf::Op::flush, 0);
        read.offset = 300 << 20;
        for (int i = 0; i < 5; ++i) {
            first.ended(first.start(read, 0), 0);
            first.ended(first.start(flush, 0), 0);
        }
        trace::ModelState state;
        first.add_to(state);
        EXPECT_EQ(state.drawn[static_cast<size_t>(Buf::Op::read)], 5U);
        EXPECT_EQ(state.head.has_value(), std::string(text).starts_with("hdd"));
        ServiceModel second = model_of(text);
        second.go_on_from(state);
        read.offset = 310 << 20;
        for (const Request& each : {read, flush}) {
            const Stay one = first.start(each, 0);
            const Stay other = second.start(each, 0);
            EXPECT_EQ(one.end - one.begin, other.end - other.begin);
            first.ended(one, 0);
            second.ended(other, 0);
        }
    }
}

TEST(ServiceModel, AHeadBeyondTheDiskIsAtItsEnd) {
    ServiceModel model = model_of("hdd7200");
    trace::ModelState state;
    state.head = UINT64_MAX;
    model.go_on_from(state);
    Request read(Buf::Op::read);
    EXPECT_GT(model.start(read, 0).end, 0);
    model.add_to(state);
    EXPECT_EQ(state.head, 4096U);
}

// Requests of other operations in between change nothing.
TEST(ServiceModel, TheNthDrawOfAnOperationDependsOnTheSeedOnly) {
    ServiceModel alone = model_of("read=exp:1ms,write=exp:1ms");
    ServiceModel mixed = model_of("read=exp:1ms,write=exp:1ms");
    ServiceModel other = model_of("read=exp:1ms,write=exp:1ms,seed=2");
    size_t same_as_other = 0;
    hrtime_t now = 0;
    for (int i = 0; i < 100; ++i) {
        now += 1'000'000'000;
        const auto time = [&](ServiceModel& model, Buf::Op op) {
            return model.start(Request(op), now).end - now;
        };
        const hrtime_t expected = time(alone, Buf::Op::read);
        for (int more = 0; more < i % 3; ++more) static_cast<void>(time(mixed, Buf::Op::write));
        EXPECT_EQ(time(mixed, Buf::Op::read), expected);
        same_as_other += time(other, Buf::Op::read) == expected ? 1U : 0U;
    }
    EXPECT_EQ(other.seed(), 2U);
    EXPECT_LT(same_as_other, 3U);
}

TEST(ServiceModel, AnOverrunIsCountedAndMovesTheServer) {
    ServiceModel model = model_of("read=const:1ms,servers=1");
    const Stay stay = model.start(Request(Buf::Op::read), 0);
    model.ended(stay, 1'250'000);
    EXPECT_EQ(model.counts().overruns, 1U);
    EXPECT_EQ(model.counts().overrun_ns, 250'000U);
    EXPECT_EQ(model.start(Request(Buf::Op::read), 0).begin, 1'250'000);
}

// With less depth than channels, a request can not begin before it has a place.
TEST(ServiceModel, ARequestBeginsWhenAPlaceBecameFreeByPlan) {
    ServiceModel model = model_of("all=ssd:4:10us:100us:0:0s", 1);
    const Stay first = model.start(Request(Buf::Op::read), 0);
    EXPECT_EQ(first.end, 10'000);
    model.ended(first, 3'000);  // the backing was faster; the program comes at 10'400
    Request other(Buf::Op::read);
    other.offset = 4096;
    const Stay second = model.start(other, 2'000);
    EXPECT_EQ(second.begin, 10'000);
    model.ended(second, 50'000);  // the backing was slower
    EXPECT_EQ(model.start(Request(Buf::Op::read), 2'000).begin, 50'000);
}

TEST(Places, AreTakenInTheOrderInWhichTheyBecameFree) {
    Places places(2);
    EXPECT_EQ(places.take(), Places::always);
    EXPECT_EQ(places.take(), Places::always);
    places.give(20);
    places.give(10);
    EXPECT_EQ(places.take(), 10);
    EXPECT_EQ(places.take(), 20);
    places.resize(1);
    places.give(30);
    EXPECT_EQ(places.take(), Places::always);  // more than the depth
    places.give(40);
    places.give(50);
    EXPECT_EQ(places.take(), 50);
    places.resize(2);
    EXPECT_EQ(places.take(), Places::always);
}

TEST(Places, OfRequestsFromBeforeTheModelAreFreeWhenTheyEnd) {
    Places places(3);
    places.occupy(2);
    EXPECT_TRUE(places.knows_next());
    EXPECT_EQ(places.take(), Places::always);
    EXPECT_FALSE(places.knows_next());
    places.give_other(15);
    EXPECT_EQ(places.take(), 15);
    places.resize(4);
    EXPECT_TRUE(places.knows_next());
    places.give(20);
    places.give(10);
    EXPECT_EQ(places.take(), Places::always);
    EXPECT_EQ(places.take(), 10);
    EXPECT_EQ(places.take(), 20);
    EXPECT_FALSE(places.knows_next());
    places.give_other(30);
    EXPECT_EQ(places.take(), 30);
}

// The depth was lowered before the model came.
TEST(Places, AreNotFreeWhileMoreRequestsFromBeforeTheModelRunThanTheDepth) {
    Places places(2);
    places.occupy(5);
    places.resize(4);
    EXPECT_FALSE(places.knows_next());
    places.give_other(5);
    EXPECT_FALSE(places.knows_next());
    places.give_other(6);
    EXPECT_EQ(places.take(), 6);
    places.resize(6);
    EXPECT_TRUE(places.knows_next());
    places.give(10);
    EXPECT_EQ(places.take(), Places::always);
    EXPECT_EQ(places.take(), Places::always);
    EXPECT_EQ(places.take(), 10);
    EXPECT_FALSE(places.knows_next());
}

// Gathered flushes run one after the other, and each takes over the place of the one before it.
TEST(Places, AFlushAboveALoweredDepthTakesNoOtherRequestsPlace) {
    Places places(2);
    places.occupy(1);
    EXPECT_EQ(places.take(), Places::always);
    places.resize(1);
    places.give(10);
    EXPECT_FALSE(places.knows_next());
    EXPECT_EQ(places.take(), Places::always);
    places.give(20);
    EXPECT_FALSE(places.knows_next());
    places.give_other(30);
    EXPECT_EQ(places.take(), 30);
}

TEST(ServiceModel, AnotherDepthChangesTheServers) {
    ServiceModel model = model_of("all=const:1ms", 2);
    EXPECT_EQ(model.servers().count(), 2U);
    model.set_depth(8);
    EXPECT_EQ(model.servers().count(), 8U);
    ServiceModel disk = model_of("hdd7200", 2);
    disk.set_depth(8);
    EXPECT_EQ(disk.servers().count(), 1U);
}

TEST(ServiceModel, AFlushOfAnSsdTakesTheChannelThatIsFreeFirst) {
    ServiceModel model = model_of("all=ssd:2:10us:100us:0:0s,flush=const:1us");
    EXPECT_EQ(model.start(Request(Buf::Op::read), 0).server, 0U);
    const auto flush = model.start(Request(Buf::Op::flush, 0), 0);
    EXPECT_EQ(flush.server, 1U);
    EXPECT_EQ(flush.end, 1000);
}

// A pareto has no upper bound, but a plan that overflows would be no plan.
TEST(ServiceModel, NoStayIsLongerThanADay) {
    ServiceModel model = model_of("read=pareto:86400s:1.01,servers=1");
    hrtime_t last = 0;
    for (int i = 0; i < 1000; ++i) {
        const hrtime_t end = model.start(Request(Buf::Op::read), 0).end;
        ASSERT_LE(end - last, 86'400'000'000'000);
        last = end;
    }
}

}  // namespace
}  // namespace blkscope::model
