// Fair order: the clients take turns, whatever each of them has waiting.
#include "blockdev/queue/waiting_requests.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "blockdev/model/limits.hpp"
#include "blockdev/queue/device_queue.hpp"

namespace blkscope {
namespace {

struct Queued : Buf {
    Queued(Op what, Client* whose) {
        op = what;
        client = whose;
        bcount = 4096;
        state = State::waiting;
    }
};

/// A device of depth 1 with three clients.
class FairOrder : public ::testing::Test {
  protected:
    Buf& enter(Client* client, Buf::Op op = Buf::Op::read) {
        Buf& buf = requests_.emplace_back(op, client);
        buf.queued = static_cast<hrtime_t>(requests_.size());
        queue_.enter(buf);
        return buf;
    }
    /// The clients of the requests that start one after another, as letters.
    std::string starts() {
        std::string order;
        for (;;) {
            const DeviceQueue::Turn turn = queue_.next(limits_);
            if (turn.buf == nullptr) return order;
            order += turn.buf->client == &a_   ? 'a'
                     : turn.buf->client == &b_ ? 'b'
                     : turn.buf->client == &c_ ? 'c'
                                               : '-';
            if (turn.runs) queue_.ended(*turn.buf);
        }
    }

    Client a_;
    Client b_;
    Client c_;
    std::deque<Queued> requests_;
    DeviceQueue queue_{1, StartOrder::fair};
    model::Limits* limits_ = nullptr;
};

TEST_F(FairOrder, EachClientStartsOneRequestInItsTurn) {
    for (int i = 0; i < 5; ++i) enter(&a_);
    enter(&b_);
    enter(&c_);
    enter(&c_);
    EXPECT_EQ(starts(), "abcacaaa");
    EXPECT_TRUE(queue_.idle());
}

TEST_F(FairOrder, TheRequestsOfAClientStartInTheOrderOfTheirArrival) {
    const Buf& first = enter(&a_);
    const Buf& second = enter(&a_, Buf::Op::write);
    const Buf& third = enter(&a_);
    for (const Buf* expected : {&first, &second, &third}) {
        EXPECT_EQ(queue_.next().buf, expected);
        queue_.ended(*expected);
    }
}

TEST_F(FairOrder, MayBeginAndEndWhileRequestsWait) {
    queue_.set_order(StartOrder::arrival);
    for (int i = 0; i < 3; ++i) enter(&a_);
    enter(&b_);
    enter(nullptr);
    queue_.set_order(StartOrder::fair);
    enter(&b_);
    EXPECT_EQ(queue_.order(), StartOrder::fair);
    EXPECT_EQ(starts(), "ab-aba");
    for (int i = 0; i < 2; ++i) enter(&a_);
    enter(&b_);
    enter(&a_);
    queue_.set_order(StartOrder::arrival);
    enter(&b_);
    enter(&c_);
    EXPECT_EQ(starts(), "aababc");
    EXPECT_TRUE(queue_.idle());
}

TEST_F(FairOrder, RequestsWithoutAClientTakeTurnsTogether) {
    for (int i = 0; i < 3; ++i) enter(&a_);
    for (int i = 0; i < 3; ++i) enter(nullptr);
    EXPECT_EQ(starts(), "a-a-a-");
}

TEST_F(FairOrder, AClientThatComesAgainJoinsBehindTheOthers) {
    for (int i = 0; i < 4; ++i) enter(&a_);
    enter(&b_);
    const Buf* const first = queue_.next().buf;
    queue_.ended(*first);
    const Buf* const second = queue_.next().buf;
    EXPECT_EQ(second->client, &b_);
    queue_.ended(*second);
    enter(&b_);
    EXPECT_EQ(starts(), "abaa");
}

TEST_F(FairOrder, ARequestWithoutTokensKeepsItsPlaceAndItsClientItsTurn) {
    model::Limits limits(model::LimitSpec::parse("write_iops=100"), 0);
    limits_ = &limits;
    enter(&a_, Buf::Op::write);
    enter(&b_, Buf::Op::write);
    enter(&b_);
    enter(&c_);
    queue_.begin_pass(limits, 0);
    EXPECT_EQ(starts(), "abc");  // b's write lacks a token, and b's read takes the turn
    enter(&a_, Buf::Op::write);
    queue_.begin_pass(limits, 5'000'000);
    EXPECT_EQ(starts(), "b");  // half a token, and a debt of half a token
    queue_.begin_pass(limits, 9'000'000);
    EXPECT_EQ(starts(), "");
    queue_.begin_pass(limits, 11'000'000);
    EXPECT_EQ(starts(), "a");
    EXPECT_TRUE(queue_.idle());
}

// Each client has one request with its tokens, and one client another one without. There is one place.
TEST_F(FairOrder, ALineKeepsItsPlaceWhenRequestsAreTakenOut) {
    model::Limits limits(model::LimitSpec::parse("write_iops=1000"), 0);
    limits_ = &limits;
    for (int i = 0; i < 10; ++i) enter(&a_, Buf::Op::write);
    queue_.begin_pass(limits, 0);
    EXPECT_EQ(starts(), "aaaaaaaaaa");
    const Buf& runs = enter(&b_, Buf::Op::write);
    for (int i = 0; i < 2; ++i) enter(&c_, Buf::Op::write);
    const Buf& leaves = enter(&a_, Buf::Op::write);
    EXPECT_EQ(starts(), "");
    queue_.begin_pass(limits, 1'500'000);  // half a token, and a debt of half a token
    EXPECT_EQ(queue_.next(limits_).buf, &runs);
    BufQueue taken;
    queue_.take_out([&](const Buf& buf) { return &buf == &leaves; }, taken);
    EXPECT_EQ(&taken.pop(), &leaves);
    queue_.ended(runs);
    EXPECT_EQ(starts(), "c");
    queue_.begin_pass(limits, 20'000'000);
    EXPECT_EQ(starts(), "c");
    EXPECT_TRUE(queue_.idle());
}

// A client that starts reads meanwhile has its part of the tokens for writes.
TEST_F(FairOrder, TokensOfOneKindGoToTheClientsInTurn) {
    constexpr hrtime_t ms = 1'000'000;
    model::Limits limits(model::LimitSpec::parse("write_iops=100"), 0);
    limits_ = &limits;
    std::map<const Client*, unsigned> writes{{&a_, 0}, {&b_, 0}};
    for (int i = 0; i < 4; ++i) {
        enter(&a_, Buf::Op::write);
        enter(&b_, Buf::Op::write);
    }
    for (hrtime_t now = 0; now < 1000 * ms; now += ms) {
        enter(&b_);
        enter(&b_);
        queue_.begin_pass(limits, now);
        for (auto turn = queue_.next(limits_); turn.buf != nullptr; turn = queue_.next(limits_)) {
            queue_.ended(*turn.buf);
            if (turn.buf->op != Buf::Op::write) continue;
            ++writes[turn.buf->client];
            enter(turn.buf->client, Buf::Op::write);
        }
    }
    EXPECT_GE(writes[&a_], 49u);
    EXPECT_GE(writes[&b_], 49u);
    EXPECT_LE(writes[&a_] + writes[&b_], 102u);
}

// The bound of a wait. Between two starts of a client that has something waiting, each other client
// starts one request at most.
TEST_F(FairOrder, NoClientStartsTwiceWhileAnotherWaits) {
    std::mt19937 random(20261123);
    std::vector<Client*> clients{&a_, &b_, &c_};
    std::map<const Client*, unsigned> waiting;
    std::map<const Client*, std::map<const Client*, unsigned>> passed;
    for (int i = 0; i < 10'000; ++i) {
        if (random() % 2 == 0) {
            Client* const client = clients[random() % clients.size()];
            if (waiting[client]++ == 0) passed[client].clear();
            enter(client);
            continue;
        }
        const Buf* const buf = queue_.next().buf;
        if (buf == nullptr) continue;
        queue_.ended(*buf);
        --waiting[buf->client];
        for (Client* const other : clients) {
            if (other == buf->client || waiting[other] == 0) continue;
            ASSERT_LE(++passed[other][buf->client], 1u);
        }
        passed[buf->client].clear();
    }
    starts();
    EXPECT_TRUE(queue_.idle());
}

}  // namespace
}  // namespace blkscope
