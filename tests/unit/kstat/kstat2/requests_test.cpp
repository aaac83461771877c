// The provider's answers about kstat2s.
#include "kstat/provider/requests.hpp"

#include <cerrno>

#include "kstat/wire/kstat2.hpp"
#include "support.hpp"

namespace blkscope::kstat2::tests {

namespace {

namespace wire1 = kstat::wire;
using wire1::bytes_of;
using wire1::Op;

class Kstat2Requests : public testing::Test {
  protected:
    struct Reply {
        int error;
        std::vector<std::byte> body;
    };

    Reply ask(Op op, wire1::Bytes body = {}) {
        wire1::RequestHead head{};
        head.op = static_cast<uint16_t>(op);
        head.length = static_cast<uint32_t>(body.size());
        std::vector<std::byte> copy(body.begin(), body.end());
        const auto answer = kstat::answer(kstat::Chain::of_this_process(), session, head, copy);
        EXPECT_TRUE(answer.data.empty());
        wire1::Bytes rest(answer.head);
        const auto reply = wire1::take<wire1::ReplyHead>(rest);
        return {reply->error, {rest.begin(), rest.end()}};
    }

    std::optional<wire::DecodedPage> list(kid_t after = 0) {
        const wire::ListFrom from{after, 0};
        return wire::decode_page(ask(Op::kstat2_list, bytes_of(from)).body, after);
    }

    Reply read_reply(kid_t kid) {
        const wire::MapId id{kid, 0};
        return ask(Op::kstat2_read, bytes_of(id));
    }

    Reply set_optional(kstat2_opt_id_t id, wire::Switch wanted) {
        const wire::SetOptional request{id, static_cast<uint32_t>(wanted)};
        return ask(Op::kstat2_optional_set, bytes_of(request));
    }

    kstat::Session session{42, false, true};
};

TEST_F(Kstat2Requests, ListWhatIsThereWithItsGeneration) {
    const Owned ksp(number("misc/asked/one", 1));
    const auto page = list(ksp->ks2_kid - 1);
    ASSERT_TRUE(page);
    ASSERT_EQ(page->maps.size(), 1U);
    EXPECT_EQ(page->maps[0].path, "/misc/asked/one");
    EXPECT_EQ(wire::decode_generation(ask(Op::kstat2_generation).body), page->generation);
}

TEST_F(Kstat2Requests, ALongListComesInSeveralPages) {
    static const std::string text(40'000, 'x');
    std::vector<Owned> all;
    for (int i = 0; i < 10; ++i) {
        Segments segments("misc/long/" + std::to_string(i));
        all.emplace_back(kstat2_create(segments.data(), 3, ALL_ZONES, nullptr, 1, 0, nullptr,
                                       text.c_str(), KSTAT2_MF_NONE));
        kstat2_nv_init(KSTAT2_NAMED_PTR(all.back()), "n", KSTAT2_NVVT_INT, 0);
        kstat2_install(all.back().get());
    }
    size_t found = 0;
    int pages = 0;
    kid_t after = all.front()->ks2_kid - 1;
    for (bool more = true; more; ++pages) {
        const auto page = list(after);
        ASSERT_TRUE(page && !page->maps.empty());
        found += page->maps.size();
        after = page->maps.back().kid;
        more = page->more;
    }
    EXPECT_EQ(found, 10U);
    EXPECT_EQ(pages, 2);
}

TEST_F(Kstat2Requests, ReadAllValuesOfOneKstat) {
    const Owned ksp(number("misc/asked/two", 17));
    const Reply reply = read_reply(ksp->ks2_kid);
    EXPECT_EQ(reply.error, 0);
    const auto values = wire::decode_values(reply.body);
    ASSERT_TRUE(values);
    EXPECT_EQ(values->kid, ksp->ks2_kid);
    EXPECT_EQ(values->snaptime, ksp->ks2_snaptime);
    EXPECT_EQ(std::get<uint64_t>(values->values.at(0).data), 17U);
}

TEST_F(Kstat2Requests, WhatIsHiddenIsAsIfItWereNotThere) {
    const Owned secret(number("misc/asked/secret", 1, 0, ALL_ZONES, KSTAT2_MF_PRIV));
    const Owned elsewhere(number("misc/asked/elsewhere", 1, 0, 7));
    EXPECT_TRUE(list(secret->ks2_kid - 1)->maps.empty());
    EXPECT_EQ(read_reply(secret->ks2_kid).error, ENXIO);
    EXPECT_EQ(read_reply(elsewhere->ks2_kid).error, ENXIO);
    EXPECT_EQ(read_reply(1 << 30).error, ENXIO);
    session.viewer = {true, 7};
    EXPECT_EQ(list(secret->ks2_kid - 1)->maps.size(), 2U);
    EXPECT_EQ(read_reply(secret->ks2_kid).error, 0);
    EXPECT_EQ(read_reply(elsewhere->ks2_kid).error, 0);
}

TEST_F(Kstat2Requests, OptionalsAreListedForAllAndTurnedByThoseWhoMay) {
    static int state = 0;
    const auto id = kstat2_register_optional(
        "test:asked", "",
        [](kstat2_opt_id_t, int enable, void*) {
            state = enable;
            return 0;
        },
        nullptr);
    EXPECT_EQ(wire::decode_optionals(ask(Op::kstat2_optional_list).body)->size(), 1U);
    EXPECT_EQ(set_optional(id, wire::Switch::on).error, EPERM);
    EXPECT_EQ(state, 0);
    session.may_write = true;
    EXPECT_EQ(set_optional(id, wire::Switch::on).error, 0);
    EXPECT_EQ(state, 1);
    EXPECT_TRUE(wire::decode_optionals(ask(Op::kstat2_optional_list).body)->at(0).is_on);
    EXPECT_EQ(set_optional(id, wire::Switch::by_default).error, 0);
    EXPECT_EQ(state, 0);
    kstat2_unregister_optional(id);
    EXPECT_EQ(set_optional(id, wire::Switch::on).error, ENOENT);
}

TEST_F(Kstat2Requests, BodiesOfAnotherSizeAreInvalid) {
    session.may_write = true;
    for (const Op op : {Op::kstat2_list, Op::kstat2_read, Op::kstat2_optional_set}) {
        const std::byte bytes[9]{};
        EXPECT_EQ(ask(op, std::span(bytes, 7)).error, EINVAL);
        EXPECT_EQ(ask(op, std::span(bytes, 9)).error, EINVAL);
    }
}

TEST_F(Kstat2Requests, NothingIsToldBeforeTheGreeting) {
    session.greeted = false;
    EXPECT_EQ(ask(Op::kstat2_generation).error, EPROTO);
    EXPECT_EQ(ask(Op::kstat2_list).error, EPROTO);
}

TEST_F(Kstat2Requests, WhatIsNoOperationOfTheSecondKindIsInvalid) {
    EXPECT_EQ(kstat::answer_kstat2({}, session, Op::headers, {}).error, EINVAL);
}

}  // namespace

}  // namespace blkscope::kstat2::tests
