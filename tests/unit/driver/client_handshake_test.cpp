// The client's half of the handshake: against the server's half, and against servers of the test.

#include "driver/nbd/client/client_handshake.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "driver/nbd/handshake/handshake.hpp"

namespace blkscope::nbd {
namespace {

constexpr uint16_t abilities =
    transmission_flag::has_flags | transmission_flag::send_flush | transmission_flag::send_fua;

Exports one_export() {
    return Exports({{.name = "disk",
                     .description = {},
                     .size_bytes = 1 << 20,
                     .transmission_flags = abilities,
                     .block_size = {.minimum = 512, .preferred = 4096, .maximum = 65536}}});
}

using Bytes = std::vector<std::byte>;

void append(Bytes& to, std::span<const std::byte> bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
}

// Feeds both halves until the client has ended, or both wait for the other.
ClientHandshake::Next negotiate(ClientHandshake& client, Handshake& server) {
    Bytes to_client;
    append(to_client, Handshake::greeting());
    Bytes to_server;
    for (;;) {
        if (!to_client.empty()) {
            const size_t bytes = std::min(client.wanted(), to_client.size());
            const auto step = client.feed(std::span(to_client).first(bytes));
            to_client.erase(to_client.begin(), to_client.begin() + static_cast<ptrdiff_t>(bytes));
            append(to_server, step.send);
            if (step.next != ClientHandshake::Next::go_on) return step.next;
        } else if (!to_server.empty() && server.wanted() > 0) {
            const size_t bytes = std::min(server.wanted(), to_server.size());
            const Step step = server.feed(std::span(to_server).first(bytes));
            to_server.erase(to_server.begin(), to_server.begin() + static_cast<ptrdiff_t>(bytes));
            append(to_client, step.send);
        } else {
            return ClientHandshake::Next::go_on;
        }
    }
}

// Feeds what a server of the test sends.
ClientHandshake::Next feed(ClientHandshake& client, const Bytes& said) {
    std::span<const std::byte> rest(said);
    while (!rest.empty()) {
        const size_t bytes = std::min(client.wanted(), rest.size());
        const auto step = client.feed(rest.first(bytes));
        rest = rest.subspan(bytes);
        if (step.next != ClientHandshake::Next::go_on) return step.next;
    }
    return ClientHandshake::Next::go_on;
}

template <class T>
void number(Bytes& to, T value) {
    std::array<std::byte, sizeof(T)> bytes{};
    store_be<T>(bytes, value);
    append(to, bytes);
}

Bytes greeting(uint16_t flags) {
    Bytes said;
    number(said, init_magic);
    number(said, option_magic);
    number(said, flags);
    return said;
}

void answer(Bytes& to, Option option, OptionReply reply, const Bytes& data = {}) {
    number(to, option_reply_magic);
    number(to, static_cast<uint32_t>(option));
    number(to, static_cast<uint32_t>(reply));
    number(to, static_cast<uint32_t>(data.size()));
    append(to, data);
}

constexpr uint16_t fixed = handshake_flag::fixed_newstyle | handshake_flag::no_zeroes;

TEST(ClientHandshake, AgreesOnTheRichestFormThatBothHave) {
    const Exports exports = one_export();
    for (const ReplyForm ours : {ReplyForm::simple, ReplyForm::structured, ReplyForm::extended}) {
        for (const ReplyForm theirs :
             {ReplyForm::simple, ReplyForm::structured, ReplyForm::extended}) {
            Handshake server(exports, {}, TlsMode::off, theirs);
            ClientHandshake client(
                {.export_name = "disk", .replies_max = ours, .allocation = true});
            ASSERT_EQ(negotiate(client, server), ClientHandshake::Next::transmission)
                << client.failure();
            const RemoteExport& remote = client.remote();
            EXPECT_EQ(remote.terms.replies, std::min(ours, theirs));
            EXPECT_EQ(remote.terms.allocation, std::min(ours, theirs) != ReplyForm::simple);
            EXPECT_EQ(remote.size_bytes, 1u << 20);
            EXPECT_TRUE(remote.offers(transmission_flag::send_fua));
            EXPECT_FALSE(remote.offers(transmission_flag::send_trim));
            EXPECT_EQ(remote.block_size.minimum, 512u);
            EXPECT_EQ(remote.block_size.maximum, 65536u);
        }
    }
}

TEST(ClientHandshake, AsksForTlsFirstAndForTheRestInIt) {
    ClientHandshake client({.export_name = "disk", .tls = true});
    Bytes said = greeting(fixed);
    answer(said, Option::starttls, OptionReply::ack);
    ASSERT_EQ(feed(client, said), ClientHandshake::Next::start_tls);
    EXPECT_EQ(client.wanted(), 0u);
    const auto question = client.go_on_in_tls();
    EXPECT_EQ(question.next, ClientHandshake::Next::go_on);
    ASSERT_GT(question.send.size(), 12u);
    EXPECT_EQ(load_be<uint32_t>(question.send.subspan<8, 4>()),
              static_cast<uint32_t>(Option::extended_headers));
    EXPECT_GT(client.wanted(), 0u);
}

TEST(ClientHandshake, RefusesAServerWithoutTlsIfTlsIsWished) {
    for (const OptionReply refusal : {OptionReply::err_unsup, OptionReply::err_policy}) {
        ClientHandshake client({.export_name = "disk", .tls = true});
        Bytes said = greeting(fixed);
        answer(said, Option::starttls, refusal);
        EXPECT_EQ(feed(client, said), ClientHandshake::Next::failed);
        EXPECT_EQ(client.failure(), "the server has no TLS, or does not allow it");
    }
    ClientHandshake client({.export_name = "disk", .tls = true});
    EXPECT_EQ(feed(client, greeting(0)), ClientHandshake::Next::failed);
    EXPECT_EQ(client.failure(), "the server has no TLS");
}

TEST(ClientHandshake, TakesNoOtherAnswerForTls) {
    for (const OptionReply other : {OptionReply::info, OptionReply::server}) {
        ClientHandshake client({.export_name = "disk", .tls = true});
        Bytes said = greeting(fixed);
        answer(said, Option::starttls, other, Bytes(4));
        EXPECT_EQ(feed(client, said), ClientHandshake::Next::failed);
    }
}

TEST(ClientHandshake, SaysThatTheServerHasNoSuchExport) {
    const Exports exports = one_export();
    Handshake server(exports);
    ClientHandshake client({.export_name = "other", .replies_max = ReplyForm::extended});
    ASSERT_EQ(negotiate(client, server), ClientHandshake::Next::failed);
    EXPECT_NE(client.failure().find("export 'other': the server has no such export"),
              std::string::npos)
        << client.failure();
}

TEST(ClientHandshake, AsksByNameWhereTheServerHasNoOptions) {
    ClientHandshake client({.export_name = "disk"});
    Bytes said = greeting(0);
    number(said, uint64_t{4096});
    number(said, abilities);
    said.resize(said.size() + export_name_zeroes);
    ASSERT_EQ(feed(client, said), ClientHandshake::Next::transmission);
    EXPECT_EQ(client.remote().size_bytes, 4096u);
    EXPECT_EQ(client.remote().terms.replies, ReplyForm::simple);
}

TEST(ClientHandshake, AsksByNameWhereTheServerDoesNotKnowGo) {
    ClientHandshake client({.export_name = "disk", .replies_max = ReplyForm::structured});
    Bytes said = greeting(fixed);
    answer(said, Option::structured_reply, OptionReply::ack);
    answer(said, Option::go, OptionReply::err_unsup);
    number(said, uint64_t{4096});
    number(said, abilities);
    ASSERT_EQ(feed(client, said), ClientHandshake::Next::transmission);
    EXPECT_EQ(client.remote().terms.replies, ReplyForm::structured);
}

TEST(ClientHandshake, EndsWithAServerThatMakesNoSense) {
    const auto failure_after = [](Bytes said) {
        ClientHandshake client({.export_name = "disk", .replies_max = ReplyForm::simple});
        EXPECT_EQ(feed(client, said), ClientHandshake::Next::failed);
        return client.failure();
    };
    EXPECT_EQ(failure_after(Bytes(greeting_bytes)),
              "the address is not one of an NBD server of the newstyle");
    Bytes said = greeting(fixed);
    said.resize(said.size() + option_reply_header_bytes);
    EXPECT_EQ(failure_after(said), "the server's answer to an option has a wrong magic number");
    said = greeting(fixed);
    answer(said, Option::list, OptionReply::ack);
    EXPECT_EQ(failure_after(said), "the server answers an option that was not asked");
    said = greeting(fixed);
    answer(said, Option::go, OptionReply::ack);
    EXPECT_EQ(failure_after(said), "the server tells nothing about the export");
    said = greeting(fixed);
    answer(said, Option::go, OptionReply::info, Bytes(11));
    EXPECT_EQ(failure_after(said), "the export's size has a wrong length");
    said = greeting(fixed);
    answer(said, Option::go, OptionReply::info, Bytes(ClientHandshake::reply_bytes_max + 1));
    EXPECT_EQ(failure_after(said), "the server's answer to an option has 8193 bytes");
    said = greeting(fixed);
    for (unsigned i = 0; i <= ClientHandshake::replies_max; ++i) {
        answer(said, Option::go, OptionReply::info, Bytes(12));
    }
    EXPECT_EQ(failure_after(said), "the server's answers to an option have no end");
}

}  // namespace
}  // namespace blkscope::nbd
