// The provider's answers, and what it does with bytes that no reader of ours sends.
#include "kstat/provider/requests.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <random>

namespace wire = blkscope::kstat::wire;

namespace blkscope {

namespace {

class RequestsTest : public testing::Test {
  protected:
    struct Reply {
        wire::ReplyHead head;
        std::vector<std::byte> body;
    };

    Reply ask(wire::Op op, wire::Bytes body) {
        wire::RequestHead head{};
        head.op = static_cast<uint16_t>(op);
        head.sequence = 5;
        head.length = static_cast<uint32_t>(body.size());
        std::vector<std::byte> copy(body.begin(), body.end());
        const auto answer = kstat::answer(chain, session, head, copy);
        wire::Bytes rest(answer.head);
        const auto reply = wire::take<wire::ReplyHead>(rest);
        std::vector<std::byte> answered(rest.begin(), rest.end());
        answered.insert(answered.end(), answer.data.begin(), answer.data.end());
        EXPECT_TRUE(reply && reply->length == answered.size() && reply->sequence == 5);
        return {*reply, answered};
    }
    Reply greet(uint32_t version = wire::version) {
        return ask(wire::Op::hello, wire::bytes_of(wire::Hello{wire::magic, version}));
    }

    kstat::Chain& chain = kstat::Chain::of_this_process();
    kstat::Session session{42, false};
};

TEST_F(RequestsTest, AGreetingIsAnsweredWithTheIdentity) {
    const Reply reply = greet();
    EXPECT_EQ(reply.head.error, 0);
    wire::Bytes body(reply.body);
    EXPECT_EQ(wire::take<wire::Welcome>(body)->identity, 42u);
    EXPECT_TRUE(session.greeted);
}

TEST_F(RequestsTest, AnotherVersionIsToldOurs) {
    const Reply reply = greet(wire::version + 1);
    EXPECT_EQ(reply.head.error, EPROTONOSUPPORT);
    wire::Bytes body(reply.body);
    EXPECT_EQ(wire::take<wire::Welcome>(body)->version, wire::version);
    EXPECT_EQ(ask(wire::Op::chain_id, {}).head.error, EPROTO);
}

TEST_F(RequestsTest, NothingIsAnsweredBeforeTheGreeting) {
    EXPECT_EQ(ask(wire::Op::chain_id, {}).head.error, EPROTO);
}

TEST_F(RequestsTest, AnUnknownOperationIsInvalidAndTheConnectionLives) {
    greet();
    EXPECT_EQ(ask(static_cast<wire::Op>(999), {}).head.error, EINVAL);
    EXPECT_EQ(ask(wire::Op::chain_id, {}).head.error, 0);
}

TEST_F(RequestsTest, EveryReplyCarriesTheChainId) {
    greet();
    EXPECT_EQ(ask(wire::Op::chain_id, {}).head.chain_id, chain.id());
}

TEST_F(RequestsTest, AWriteWithoutTheRightIsRefusedBeforeAnythingElse) {
    greet();
    EXPECT_EQ(ask(wire::Op::write, {}).head.error, EPERM);
    session.may_write = true;
    EXPECT_EQ(ask(wire::Op::write, {}).head.error, EINVAL);
    wire::DataHead head{};
    head.kid = 4711;
    EXPECT_EQ(ask(wire::Op::write, wire::bytes_of(head)).head.error, ENXIO);
}

TEST_F(RequestsTest, OnlyWritersMaySendMuch) {
    EXPECT_EQ(kstat::request_length_max(session), wire::small_request_max);
    session.may_write = true;
    EXPECT_GT(kstat::request_length_max(session), wire::data_size_max);
}

TEST_F(RequestsTest, RandomBodiesOfEveryOperationAreSurvived) {
    kstat_t* const ksp = kstat_create("r", 0, "w", "misc", KSTAT_TYPE_NAMED, 1, 0x04);
    kstat_named_init(KSTAT_NAMED_PTR(ksp), "n", KSTAT_DATA_INT32);
    kstat_install(ksp);
    session.may_write = true;
    greet();
    std::mt19937 random(20261121);
    for (int round = 0; round < 5'000; ++round) {
        std::vector<std::byte> body(random() % 128);
        for (std::byte& byte : body) byte = std::byte(random() & 0xff);
        if (body.size() >= 32) {  // let some of it get further than the first check
            wire::DataHead head{};
            head.kid = ksp->ks_kid;
            head.ndata = static_cast<uint32_t>(random() % 3);
            head.type = KSTAT_TYPE_NAMED;
            head.data_size = body.size() - sizeof head;
            std::memcpy(body.data(), &head, sizeof head);
        }
        ask(static_cast<wire::Op>(random() % 8), body);
    }
    EXPECT_EQ(ask(wire::Op::headers, wire::bytes_of(wire::ListFrom{0, 0})).head.error, 0);
    kstat_delete(ksp);
}

}  // namespace

}  // namespace blkscope
