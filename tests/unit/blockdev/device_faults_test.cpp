// A device with fault rules: what the client sees, what reaches the medium, and what is counted.
#include <gtest/gtest.h>

#include <algorithm>

#include "behaviour_fixture.hpp"

namespace blkscope {
namespace {

struct DroppedBuf : TestBuf {
    using TestBuf::TestBuf;
    bool is_wanted = true;
    [[nodiscard]] bool wanted() const override { return is_wanted; }
};

class DeviceFaults : public BehaviourTest {
  protected:
    uint64_t hits(uint32_t rule = 1) {
        return numbers("nbd", device_->name() + ",faults").at("hits_" + std::to_string(rule));
    }
    uint64_t hard_errors() { return numbers("nbderr", device_->name() + ",err").at("Hard Errors"); }
    /// Reads a page of the device, without its faults.
    std::vector<std::byte> medium() {
        device_->clear_faults();
        std::vector<std::byte> page(4096);
        TestBuf read(Buf::Op::read);
        read.data = page.data();
        run(read);
        return page;
    }
    static int64_t count(const std::vector<std::byte>& page, std::byte value) {
        return std::count(page.begin(), page.end(), value);
    }

    std::vector<std::byte> page_ = std::vector<std::byte>(4096, std::byte{'x'});

    TestBuf request(Buf::Op op) {
        TestBuf buf(op);
        buf.data = page_.data();
        return buf;
    }
};

TEST_F(DeviceFaults, AnErrorLeavesTheMediumAlone) {
    script(faulty("write:error=ENOSPC"));
    TestBuf write = request(Buf::Op::write);
    run(write);
    EXPECT_EQ(write.error, ENOSPC);
    EXPECT_TRUE(backing_->held.empty());
    EXPECT_EQ(hits(), 1u);
    EXPECT_EQ(hard_errors(), 0u);
    TestBuf read = request(Buf::Op::read);
    device_->strategy(read);
    EXPECT_EQ(backing_->held.size(), 1u);
    finish_first(4096);
    EXPECT_EQ(read.error, 0);
}

TEST_F(DeviceFaults, ACountedErrorIsOneOfTheDevice) {
    script(faulty("read:error=EIO;counted"));
    TestBuf read = request(Buf::Op::read);
    run(read);
    EXPECT_EQ(read.error, EIO);
    EXPECT_EQ(hard_errors(), 1u);
}

TEST_F(DeviceFaults, AnErrorTakesTheModelsTimeToo) {
    Behaviour behaviour = faulty("read:error=EIO");
    behaviour.model = model_of("read=const:3ms");
    serve(std::move(behaviour));
    TestBuf read = request(Buf::Op::read);
    run(read);
    EXPECT_EQ(read.error, EIO);
    EXPECT_GE(stay_ns(read), 3 * ms);
}

TEST_F(DeviceFaults, ADelayIsServiceAndAddsToTheDraw) {
    Behaviour behaviour = faulty("read:delay=const:2ms");
    behaviour.model = model_of("read=const:3ms");
    serve(std::move(behaviour));
    TestBuf read = request(Buf::Op::read);
    run(read);
    EXPECT_EQ(read.error, 0);
    EXPECT_GE(stay_ns(read), 5 * ms);
    device_->set_model(std::nullopt);
    TestBuf without_model = request(Buf::Op::read);
    run(without_model);
    EXPECT_GE(stay_ns(without_model), 2 * ms);
}

TEST_F(DeviceFaults, ADroppedWriteSucceedsAndIsNotWritten) {
    serve(faulty("write:drop"));
    TestBuf write = request(Buf::Op::write);
    run(write);
    EXPECT_EQ(write.error, 0);
    EXPECT_EQ(write.resid, 0u);
    EXPECT_EQ(hits(), 1u);
    EXPECT_EQ(count(medium(), std::byte{'x'}), 0);
}

TEST_F(DeviceFaults, ACorruptWriteDamagesTheMedium) {
    serve(faulty("write:corrupt=3"));
    TestBuf write = request(Buf::Op::write);
    run(write);
    EXPECT_EQ(write.error, 0);
    EXPECT_EQ(count(medium(), std::byte{'x'}), 4096 - 3);
}

TEST_F(DeviceFaults, ACorruptReadLeavesTheMediumWhole) {
    serve({});
    TestBuf write = request(Buf::Op::write);
    run(write);
    device_->add_fault(rule_of("read:corrupt=5"));
    std::vector<std::byte> page(4096);
    TestBuf read(Buf::Op::read);
    read.data = page.data();
    run(read);
    EXPECT_EQ(count(page, std::byte{'x'}), 4096 - 5);
    EXPECT_EQ(count(medium(), std::byte{'x'}), 4096);
}

TEST_F(DeviceFaults, ATornWriteFailsAndHasItsFirstSectors) {
    serve(faulty("write:torn"));
    TestBuf write = request(Buf::Op::write);
    run(write);
    EXPECT_EQ(write.error, EIO);
    EXPECT_EQ(write.bcount, 4096u);
    const auto page = medium();
    const int64_t written = count(page, std::byte{'x'});
    EXPECT_LT(written, 4096);
    EXPECT_EQ(written % 512, 0);
    EXPECT_EQ(static_cast<uint64_t>(written), write.moved());
    EXPECT_TRUE(std::all_of(page.begin(), page.begin() + written,
                            [](std::byte byte) { return byte == std::byte{'x'}; }));
}

TEST_F(DeviceFaults, ADisconnectIsDoneAndTellsTheSession) {
    serve(faulty("write:disconnect;count=1"));
    TestBuf first = request(Buf::Op::write);
    TestBuf second = request(Buf::Op::write);
    run(first);
    run(second);
    EXPECT_TRUE(first.disconnects);
    EXPECT_FALSE(second.disconnects);
    EXPECT_EQ(count(medium(), std::byte{'x'}), 4096);
}

TEST_F(DeviceFaults, AHungRequestGoesOnWhenItsRuleIsRemoved) {
    script(faulty("read:hang"));
    TestBuf read = request(Buf::Op::read);
    device_->strategy(read);
    settle();
    EXPECT_TRUE(backing_->held.empty());
    EXPECT_EQ(device_->io().rcnt, 1u);  // the request holds depth
    EXPECT_FALSE(device_->remove_fault(77));
    settle();
    EXPECT_TRUE(backing_->held.empty());
    EXPECT_TRUE(device_->remove_fault(1));
    settle();
    ASSERT_EQ(backing_->held.size(), 1u);
    finish_first(4096);
    EXPECT_EQ(read.error, 0);
    EXPECT_EQ(read.done, 1);
}

TEST_F(DeviceFaults, AHangEndsAfterItsTime) {
    serve(faulty("write:hang=4ms"));
    TestBuf write = request(Buf::Op::write);
    run(write);
    EXPECT_EQ(write.error, 0);
    EXPECT_GE(stay_ns(write), 4 * ms);
    EXPECT_EQ(count(medium(), std::byte{'x'}), 4096);
}

TEST_F(DeviceFaults, ATimeThatEndsAfterTheRuleIsNoHarm) {
    serve(faulty("write:hang=200ms"));
    TestBuf write = request(Buf::Op::write);
    device_->strategy(write);
    ring_->unlock();
    device_->clear_faults();
    device_->set_model(model_of("read=const:250ms"));
    finish(write);
    EXPECT_LT(stay_ns(write), 200 * ms);
    TestBuf read = request(Buf::Op::read);  // may have the plan of the write
    run(read);
    EXPECT_GE(stay_ns(read), 250 * ms);
}

TEST_F(DeviceFaults, ATimeThatIsNotOverAtTheEndOfTheDeviceIsForgotten) {
    serve(faulty("read:hang=1000s"));
    TestBuf read = request(Buf::Op::read);
    device_->strategy(read);
    ring_->unlock();
    device_->clear_faults();
    finish(read);
    device_.reset();
}

TEST_F(DeviceFaults, AHungRequestThatNobodyWantsIsAbandoned) {
    script(faulty("all:hang"));
    DroppedBuf write(Buf::Op::write);
    DroppedBuf other(Buf::Op::write);
    device_->strategy(write);
    device_->strategy(other);
    device_->abandon(device_->first_lane());
    settle();
    EXPECT_EQ(write.done + other.done, 0);
    write.is_wanted = false;
    device_->abandon(device_->first_lane());
    settle();
    EXPECT_EQ(write.done, 1);
    EXPECT_EQ(write.error, ESHUTDOWN);
    EXPECT_EQ(other.done, 0);
    EXPECT_TRUE(backing_->held.empty());
    EXPECT_EQ(numbers("nbd", device_->name() + ",faults").at("abandoned"), 1u);
    EXPECT_EQ(hard_errors(), 0u);
    device_->clear_faults();
    settle();
    finish_first(4096);
    EXPECT_EQ(other.error, 0);
}

TEST_F(DeviceFaults, ARequestThatNobodyWantsDoesNotHang) {
    script(faulty("all:hang"));
    DroppedBuf flush(Buf::Op::flush);
    flush.is_wanted = false;
    device_->strategy(flush);
    EXPECT_EQ(backing_->held.size(), 1u);
    finish_first(0);
    EXPECT_EQ(flush.error, 0);
}

// The flush of the closed client serves another client's flush, which must not fail.
TEST_F(DeviceFaults, AnAbandonedFlushGoesOn) {
    script(faulty("flush:hang;count=1"));
    DroppedBuf flush(Buf::Op::flush);
    TestBuf gathered(Buf::Op::flush);
    device_->strategy(flush);
    device_->strategy(gathered);
    flush.is_wanted = false;
    device_->abandon(device_->first_lane());
    settle();
    ASSERT_EQ(backing_->held.size(), 1u);
    finish_first(0);
    finish_first(0);
    EXPECT_EQ(flush.error, 0);
    EXPECT_EQ(gathered.error, 0);
    EXPECT_EQ(gathered.done, 1);
}

struct LostFlush : DroppedBuf {
    LostFlush() : DroppedBuf(Buf::Op::flush) {}
    [[nodiscard]] bool orphaned() override { return !is_wanted; }
};

// Otherwise their connections would stay for as long as the flush before them hangs.
TEST_F(DeviceFaults, LostClientsFlushesBehindAHungOneEnd) {
    script(faulty("flush:hang;count=1"));
    LostFlush hung, first, second, third;
    for (LostFlush* const flush : {&hung, &first, &second, &third}) device_->strategy(*flush);
    first.is_wanted = third.is_wanted = false;
    device_->abandon(device_->first_lane());
    settle();
    EXPECT_EQ(first.error, ESHUTDOWN);
    EXPECT_EQ(third.error, ESHUTDOWN);
    EXPECT_EQ(hung.done + second.done, 0);
    device_->clear_faults();
    settle();
    finish_first(0);
    EXPECT_EQ(hung.done, 1);
    EXPECT_EQ(second.done, 0);  // another flush runs for it
    finish_first(0);
    EXPECT_EQ(second.error, 0);
    EXPECT_TRUE(backing_->held.empty());
    EXPECT_EQ(hard_errors(), 0u);
}

TEST_F(DeviceFaults, AnInjectedErrorOfAFlushIsNotSticky) {
    script(faulty("flush:error=EIO;count=1"));
    TestBuf first(Buf::Op::flush);
    TestBuf second(Buf::Op::flush);
    run(first);
    EXPECT_EQ(first.error, EIO);
    device_->strategy(second);
    finish_first(0);
    EXPECT_EQ(second.error, 0);
}

TEST_F(DeviceFaults, AStickyErrorStaysUntilItIsClearedAfterASync) {
    script(faulty("flush:error=EIO;count=1;sticky"));
    TestBuf first(Buf::Op::flush);
    TestBuf second(Buf::Op::flush);
    TestBuf third(Buf::Op::flush);
    EXPECT_TRUE(device_->clear_sync_error());
    run(first);
    EXPECT_EQ(first.error, EIO);
    EXPECT_FALSE(device_->clear_sync_error());  // no sync has succeeded since
    device_->strategy(second);
    finish_first(0);
    EXPECT_EQ(second.error, EIO);
    ring_->unlock();
    EXPECT_TRUE(device_->clear_sync_error());
    EXPECT_EQ(numbers("nbd", device_->name() + ",cmds").at("sync_error"), 0u);
    device_->strategy(third);
    finish_first(0);
    EXPECT_EQ(third.error, 0);
}

// The kernel tells a failed sync once, and others begin while a model holds the answer.
TEST_F(DeviceFaults, AFailedSyncIsNoticedBeforeItsPlannedEnd) {
    Behaviour behaviour;
    behaviour.model = model_of("flush=const:300ms");
    script(std::move(behaviour));
    TestBuf flush(Buf::Op::flush);
    TestBuf write = request(Buf::Op::write);
    write.fua = true;
    device_->strategy(flush);
    finish_first(-EIO);
    EXPECT_EQ(flush.done, 0);
    run(write);
    EXPECT_EQ(write.error, EIO);
    EXPECT_TRUE(backing_->held.empty());
    finish(flush);
    EXPECT_EQ(flush.error, EIO);
}

TEST_F(DeviceFaults, TheSameSeedHasTheSameFaults) {
    const auto faults_of = [&](uint64_t seed) {
        Behaviour behaviour = faulty("read:error=EIO;chance=1/3");
        behaviour.seed = seed;
        device_.reset();
        serve(std::move(behaviour));
        std::string outcome;
        for (int i = 0; i < 64; ++i) {
            TestBuf read = request(Buf::Op::read);
            run(read);
            outcome += read.error == 0 ? '.' : 'E';
        }
        EXPECT_EQ(hits(), static_cast<uint64_t>(std::count(outcome.begin(), outcome.end(), 'E')));
        return outcome;
    };
    EXPECT_EQ(faults_of(1), faults_of(1));
    EXPECT_NE(faults_of(1), faults_of(2));
}

TEST_F(DeviceFaults, RulesAreListedWithTheirHits) {
    serve(faulty("read:error=EIO"));
    EXPECT_EQ(device_->add_fault(rule_of("write:drop")), 2u);
    TestBuf write = request(Buf::Op::write);
    run(write);
    const auto entries = device_->faults();
    ASSERT_EQ(entries.size(), 2u);
    EXPECT_EQ(entries[1].id, 2u);
    EXPECT_EQ(entries[1].hits, 1u);
    device_->clear_faults();
    EXPECT_TRUE(device_->faults().empty());
    EXPECT_TRUE(read_data("nbd", device_->name() + ",faults").empty());
    EXPECT_EQ(device_->add_fault(rule_of("write:drop")), 3u);
}

}  // namespace
}  // namespace blkscope
