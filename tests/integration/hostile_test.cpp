// Clients that are broken or hostile: each ends with the right error or a closed connection. A
// well-behaved client beside them notices nothing.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "driver/nbd/protocol.hpp"
#include "raw_client.hpp"
#include "served_device.hpp"

namespace blkscope::test {
namespace {

class Hostile : public ServedDevice {
  protected:
    /// The bystander that must notice nothing.
    void expect_undisturbed() {
        Client client(uri());
        EXPECT_EQ(client.try_write(0, 4096, 'u'), 0);
        EXPECT_EQ(client.try_read(0, 4096), 0);
    }

    uint64_t resident_kib() { return memory_kib(server_->pid(), "VmRSS:"); }
    uint64_t anonymous_kib() { return memory_kib(server_->pid(), "RssAnon:"); }

    size_t descriptors() {
        const std::filesystem::directory_iterator all("/proc/" + std::to_string(server_->pid()) +
                                                      "/fd");
        return static_cast<size_t>(std::distance(begin(all), end(all)));
    }
};

TEST_F(Hostile, GarbageInsteadOfAHandshakeIsAClosedConnection) {
    serve("memory:1M");
    std::mt19937 random(20261121);
    for (int i = 0; i < 50; ++i) {
        RawClient client(socket_);
        std::string garbage(4 + random() % 4000, '\0');
        for (char& byte : garbage) byte = static_cast<char>(random());
        garbage[0] = '\x7f';  // no such client flags
        client.text(garbage).send();
        EXPECT_TRUE(client.closed());
    }
    expect_undisturbed();
}

TEST_F(Hostile, GarbageInsteadOfARequestIsAClosedConnection) {
    serve("memory:1M");
    RawClient client(socket_, "");
    client.text(std::string(4096, 'g')).send();
    EXPECT_TRUE(client.closed());
    expect_undisturbed();
}

TEST_F(Hostile, HalfAHandshakeEndsAtTheDeadline) {
    serve("memory:1M", {"--handshake-timeout", "1"});
    RawClient silent(socket_);
    RawClient half(socket_);
    half.receive(nbd::greeting_bytes);
    half.number(uint32_t{3}).number(nbd::option_magic).send();
    EXPECT_TRUE(silent.closed());
    EXPECT_TRUE(half.closed());
    expect_undisturbed();
}

TEST_F(Hostile, AnOptionOfFourGigabytesIsAClosedConnection) {
    serve("memory:1M");
    RawClient client(socket_);
    client.receive(nbd::greeting_bytes);
    client.number(uint32_t{3});
    client.option(7, 0xffffffff);
    client.send();
    EXPECT_TRUE(client.closed());
    expect_undisturbed();
}

TEST_F(Hostile, AReadOfFourGigabytesIsRefusedAndTheConnectionGoesOn) {
    serve("memory:1M");
    RawClient client(socket_, "");
    client.request(0, 0, 0xffffffff);
    client.request(0, 0, 512);
    client.send();
    EXPECT_EQ(client.reply_error(), EINVAL);
    EXPECT_EQ(client.reply_error(), 0);
    EXPECT_EQ(client.receive(512).size(), 512u);
    EXPECT_LT(resident_kib(), 200u * 1024);
}

TEST_F(Hostile, AWriteOfFourGigabytesIsRefusedAndTheConnectionCloses) {
    serve("memory:1M");
    RawClient client(socket_, "");
    client.request(1, 0, 0xffffffff);
    client.send();
    EXPECT_EQ(client.reply_error(), EINVAL);
    EXPECT_TRUE(client.closed());
    expect_undisturbed();
}

TEST_F(Hostile, ARefusedWritesDataIsSkippedAndTheStreamStaysInStep) {
    serve("memory:1M");
    RawClient client(socket_, "");
    client.request(1, mib, 300'000);
    client.text(std::string(300'000, '\x25'));
    client.request(0, 0, 512);
    client.send();
    EXPECT_EQ(client.reply_error(), ENOSPC);
    EXPECT_EQ(client.reply_error(), 0);
    EXPECT_EQ(client.receive(512), std::vector<unsigned char>(512, 0));
}

TEST_F(Hostile, AnUnknownCommandIsRefusedAndTheConnectionGoesOn) {
    serve("memory:1M");
    RawClient client(socket_, "");
    for (const uint16_t type : std::initializer_list<uint16_t>{7, 8, 9, 100, 0xffff}) {
        client.request(type, 0, 512, type);
        client.send();
        EXPECT_EQ(client.reply_error(), EINVAL) << type;
    }
    client.request(3, 0, 512);  // a flush has no length
    client.send();
    EXPECT_EQ(client.reply_error(), EINVAL);
}

TEST_F(Hostile, ARequestInSingleBytesIsServed) {
    serve("memory:1M");
    RawClient client(socket_, "");
    client.request(1, 0, 8);
    client.text("12345678");
    client.request(0, 0, 8);
    std::vector<char> bytes;
    for (const uint64_t cookie : {1u, 2u}) {
        std::string header("\x25\x60\x95\x13\0\0\0", 7);
        header += static_cast<char>(cookie == 1 ? 1 : 0);
        header += std::string(7, '\0') + static_cast<char>(cookie) + std::string(8, '\0') +
                  std::string("\0\0\0\x08", 4);
        if (cookie == 1) header += "abcdefgh";
        for (const char byte : header) ASSERT_TRUE(client.send_now(&byte, 1));
    }
    EXPECT_EQ(client.reply_error(), 0);
    EXPECT_EQ(client.reply_error(), 0);
    const auto data = client.receive(8);
    EXPECT_EQ(std::string(data.begin(), data.end()), "abcdefgh");
}

// The client asks for far more bytes than the server may keep for it, and reads nothing.
TEST_F(Hostile, AClientThatNeverReadsIsHeldBack) {
    serve("memory:64M");
    RawClient mute(socket_, "");
    const uint64_t before = resident_kib();
    // Sends until the server stops taking: it must, long before the end.
    std::string one("\x25\x60\x95\x13\0\0\0\0\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0\0\0\2\0\0", 28);
    int accepted = 0;
    while (accepted < 200'000 && mute.send_now(one.data(), one.size(), MSG_DONTWAIT)) ++accepted;
    EXPECT_LT(accepted, 200'000);
    expect_undisturbed();
    EXPECT_TRUE(eventually([&] { return read_io().rcnt == 0; }));
    EXPECT_LT(resident_kib(), before + grown_kib(64));
    expect_undisturbed();
}

// The server reads on after a while all the same: else both sides would wait for the other to
// read.
TEST_F(Hostile, AClientThatSendsALongWriteBeforeItTakesItsRepliesIsServed) {
    constexpr size_t reads = 32;
    constexpr size_t reply = nbd::simple_reply_bytes + 4096;
    serve("memory:16M");
    RawClient client(socket_, "");
    for (size_t batch = 1; batch <= 2; ++batch) {  // together past a quarter of the socket's room
        for (size_t i = 0; i < reads; ++i) client.request(0, i * 4096, 4096);
        ASSERT_TRUE(client.send());
        ASSERT_TRUE(eventually([&] { return client.waiting() == batch * reads * reply; }));
    }
    client.request(1, 0, 4 * mib);
    client.text(std::string(4 * mib, 'w'));
    ASSERT_TRUE(client.send());
    EXPECT_EQ(client.receive(2 * reads * reply).size(), 2 * reads * reply);
    EXPECT_EQ(client.reply_error(), 0);
}

// The server reads on after a while for each of them, though both wait at the same time.
TEST_F(Hostile, EachOfTwoClientsThatTakeNoRepliesIsReadAllTheSame) {
    constexpr unsigned reads = 60;  // past a quarter of the socket's room
    serve("memory:16M", {"--workers", "1"});
    unsigned expected = 0;
    for (int round = 0; round < 20; ++round) {
        RawClient first(socket_);
        RawClient second(socket_);
        for (RawClient* const client : {&first, &second}) client->enter_transmission();
        for (const unsigned batch : {reads, 1U}) {
            for (RawClient* const client : {&first, &second}) {
                for (unsigned i = 0; i < batch; ++i) client->request(0, i * 4096, 4096);
                ASSERT_TRUE(client->send());
            }
            expected += 2 * batch;
            ASSERT_TRUE(eventually([&] { return read_io().reads == expected; })) << round;
        }
    }
}

// The client of a suspended machine has its whole share of the memory, which no other client needs.
TEST_F(Hostile, AClientThatSleepsLongerThanOthersWouldWaitIsServedWhenItWakes) {
    serve("memory:64M");
    RawClient sleeper(socket_, "");
    constexpr size_t requests = 200;
    for (size_t i = 0; i < requests; ++i) sleeper.request(0, 0, 131072);
    ASSERT_TRUE(sleeper.send());
    EXPECT_FALSE(sleeper.hung_up(std::chrono::seconds(13)));
    const size_t bytes = requests * (nbd::simple_reply_bytes + 131072);
    EXPECT_EQ(sleeper.receive(bytes).size(), bytes);
}

// A sleeper that once found no shared memory has a request in its reserve, and leaves a slot free.
// So the client that waits always has more requests under way than slots can be free.
TEST_F(Hostile, ClientsThatHoldAllTheMemoryAndSleepAreGivenUpForOneThatWaits) {
    serve("memory:64M", {"--workers", "1"});  // its clients share its memory
    std::vector<std::unique_ptr<RawClient>> sleepers;
    for (int i = 0; i < 2; ++i) {
        sleepers.push_back(std::make_unique<RawClient>(socket_, ""));
        for (int n = 0; n < 200; ++n) sleepers.back()->request(0, 0, 131072);
        ASSERT_TRUE(sleepers.back()->send());
    }
    ASSERT_TRUE(eventually([&] { return read_io().reads >= 256; }));
    RawClient waiting(socket_, "");
    constexpr int ahead = 32;
    for (int i = 0; i < ahead; ++i) waiting.request(0, 0, 131072);
    const auto receive = [&] { EXPECT_EQ(waiting.receive(16 + 131072).size(), 16U + 131072U); };
    // One sleeper that is given up is enough; the other may go on sleeping.
    EXPECT_TRUE(eventually([&] {
        waiting.request(0, 0, 131072);
        EXPECT_TRUE(waiting.send());
        receive();
        return sleepers[0]->hung_up(std::chrono::milliseconds(0)) ||
               sleepers[1]->hung_up(std::chrono::milliseconds(0));
    }));
    for (int i = 0; i < ahead; ++i) receive();
}

// Clients that take all of a worker's memory and keep it stop no other: each client has a reserve.
class MemoryHogs : public Hostile {
  protected:
    static constexpr auto stall_max = std::chrono::milliseconds(BLKSCOPE_SANITIZED ? 2000 : 250);

    void serve_two() { serve("victim=memory:64M", {"other=memory:64M", "--workers", "1"}); }

    RawClient& hog() {
        hogs_.push_back(std::make_unique<RawClient>(socket_, "other"));
        return *hogs_.back();
    }

    /// The longest wait of a client of the other export for one read of so many bytes. The client
    /// reads for `span`.
    std::chrono::milliseconds longest_stall(uint32_t bytes, std::chrono::milliseconds span) {
        using Clock = std::chrono::steady_clock;
        RawClient victim(socket_, "victim");
        Clock::duration longest{};
        const auto end = Clock::now() + span;
        while (Clock::now() < end && !HasFailure()) {
            const auto asked = Clock::now();
            victim.request(0, 0, bytes);
            EXPECT_TRUE(victim.send());
            EXPECT_EQ(victim.receive(nbd::simple_reply_bytes + bytes).size(),
                      nbd::simple_reply_bytes + bytes);
            longest = std::max(longest, Clock::now() - asked);
        }
        return std::chrono::duration_cast<std::chrono::milliseconds>(longest);
    }

    /// Attacks, and expects that the client of the other export is not kept waiting. On a machine
    /// that has other work, too, one of three attempts is enough: each begins with new hogs.
    template <class Attack>
    void expect_no_stall(Attack attack, uint32_t bytes, std::chrono::milliseconds span) {
        std::chrono::milliseconds stall{};
        for (int attempt = 0; attempt < 3 && !HasFailure(); ++attempt) {
            attack();
            stall = longest_stall(bytes, span);
            if (stall < stall_max) return;
            hogs_.clear();
        }
        EXPECT_LT(stall, stall_max);
    }

    std::vector<std::unique_ptr<RawClient>> hogs_;
};

TEST_F(MemoryHogs, TwoThatAskForSixtyFourMebibytesAndTakeNothing) {
    serve_two();
    const auto attack = [&] {
        for (int i = 0; i < 2; ++i) {
            hog().request(0, 0, 64 * mib);
            ASSERT_TRUE(hogs_.back()->send());
        }
    };
    expect_no_stall(attack, 256 << 10, std::chrono::seconds(3));
}

TEST_F(MemoryHogs, EightWithReadsOfAMebibyte) {
    serve_two();
    const auto attack = [&] {
        for (int i = 0; i < 8; ++i) {
            RawClient& mute = hog();
            for (int n = 0; n < 32; ++n) mute.request(0, 0, mib);
            ASSERT_TRUE(mute.send());
        }
    };
    expect_no_stall(attack, 256 << 10, std::chrono::seconds(3));
    expect_no_stall(attack, 2 * mib, std::chrono::seconds(1));
}

TEST_F(MemoryHogs, TwentyThatFillThePoolAndTheSmallestPieces) {
    serve_two();
    const auto attack = [&] {
        for (int i = 0; i < 20; ++i) {
            RawClient& mute = hog();
            // The socket takes some replies before the rest is held.
            for (int n = 0; n < 512; ++n) mute.request(0, 0, 4096);
            ASSERT_TRUE(mute.send());
        }
    };
    expect_no_stall(attack, 4096, std::chrono::seconds(2));
    expect_no_stall(attack, 256 << 10, std::chrono::seconds(1));
}

TEST_F(MemoryHogs, HalfSentWritesAndWritesByTheByte) {
    serve_two();
    const auto attack = [&] {
        for (int i = 0; i < 6; ++i) {
            hog().request(1, 0, 16 * mib);
            hogs_.back()->text(std::string(1000, 'h'));
            ASSERT_TRUE(hogs_.back()->send());
        }
    };
    expect_no_stall(attack, 256 << 10, std::chrono::seconds(1));
    const auto drip = [&] {
        if (hogs_.empty()) attack();
        for (const auto& drips : hogs_) drips->send_now("d", 1, MSG_DONTWAIT);
    };
    for (int second = 0; second < 3; ++second) {
        expect_no_stall(drip, 256 << 10, std::chrono::seconds(1));
    }
}

// A client waits for more than its reserve. A client that sends a byte a second must not block it.
TEST_F(MemoryHogs, OneThatDripsIsClosedForALargeRequestThatWaits) {
    serve_two();
    hog().request(1, 0, 64 * mib);
    ASSERT_TRUE(hogs_.back()->text("first").send());
    ASSERT_TRUE(eventually([&] { return read_command_count("connections", "nbd1") == 1; }));
    RawClient waiting(socket_, "victim");
    const auto asked = std::chrono::steady_clock::now();
    waiting.request(0, 0, 4 * mib);
    ASSERT_TRUE(waiting.send());
    ASSERT_TRUE(eventually([&] {
        hogs_[0]->send_now("d", 1, MSG_DONTWAIT);
        return hogs_[0]->hung_up(std::chrono::milliseconds(900));
    }));
    EXPECT_EQ(waiting.receive(16 + 4 * mib).size(), 16 + 4 * mib);
    EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::seconds(14));
}

TEST_F(MemoryHogs, MemoryGoesBackToTheSystemWhenTheClientsHaveLeft) {
    if (BLKSCOPE_SANITIZED) GTEST_SKIP() << "SKIPPED: the sanitizer's own memory is anonymous, too";
    serve("memory:16M", {"--workers", "1"});
    expect_undisturbed();
    ASSERT_TRUE(eventually([&] { return read_command_count("connections") == 0; }));
    const uint64_t before = anonymous_kib();
    for (int i = 0; i < 4; ++i) {
        hogs_.push_back(std::make_unique<RawClient>(socket_, ""));
        for (int n = 0; n < 16; ++n) hogs_.back()->request(0, 0, mib);
        ASSERT_TRUE(hogs_.back()->send());
    }
    EXPECT_TRUE(eventually([&] { return anonymous_kib() > before + 48 * 1024; }));
    hogs_.clear();
    EXPECT_TRUE(eventually([&] { return anonymous_kib() < before + 4 * 1024; }))
        << anonymous_kib() << " KiB, " << before << " before";
    expect_undisturbed();
}

TEST_F(Hostile, AClientThatHasFinishedSendingGetsAllItsReplies) {
    serve("memory:1M", {"--queue-depth", "1"});
    RawClient client(socket_, "");
    constexpr size_t requests = 300;  // more than it may have under way
    for (size_t i = 0; i < requests; ++i) client.request(0, 0, 4096);
    client.send();
    client.finish_sending();
    const size_t bytes = requests * (nbd::simple_reply_bytes + 4096);
    EXPECT_EQ(client.receive(bytes).size(), bytes);
    EXPECT_TRUE(client.closed());
}

TEST_F(Hostile, ADisconnectIsObeyedAfterTheRequestsBeforeIt) {
    serve(make_image("disk.img", mib));
    RawClient client(socket_, "");
    client.request(1, 0, 4096, 1, 1);  // with FUA, which takes its time
    client.text(std::string(4096, 'd'));
    client.request(3, 0, 0, 2);
    client.request(2, 0, 0, 3);
    client.request(0, 0, 512, 4);  // not looked at any more
    client.send();
    EXPECT_EQ(client.reply_error(), 0);
    EXPECT_EQ(client.reply_error(), 0);
    EXPECT_EQ(client.receive(1).size(), 0u);
    EXPECT_EQ(read_command_count("read_requests"), 0u);
}

// A header, a payload and a refused write's payload, cut at every byte of the first requests.
TEST_F(Hostile, TheStreamStaysInStepWhereverItIsCut) {
    serve("memory:1M");
    RawClient client(socket_, "");
    std::string stream;
    const auto write = [&](uint64_t offset, uint32_t length, char fill) {
        RawClient::append(stream, nbd::request_magic);
        RawClient::append(stream, uint16_t{0});
        RawClient::append(stream, uint16_t{1});
        RawClient::append(stream, uint64_t{9});
        RawClient::append(stream, offset);
        RawClient::append(stream, length);
        stream.append(length, fill);
    };
    write(0, 5, 'a');
    write(mib, 7, 'b');  // refused
    write(8, 20'000, 'c');
    write(mib, 3, 'd');
    for (size_t cut = 1; cut < 110; ++cut) {
        ASSERT_TRUE(client.send_now(stream.data(), cut));
        // A round trip on another connection: the server has seen the first part by then.
        expect_undisturbed();
        ASSERT_TRUE(client.send_now(stream.data() + cut, stream.size() - cut));
        std::array<int, 4> errors{};
        for (int& error : errors) error = client.reply_error();
        std::sort(errors.begin(), errors.end());  // replies come in any order
        ASSERT_EQ(errors, (std::array{0, 0, ENOSPC, ENOSPC})) << cut;
    }
}

// Its clients are silent, negotiating, half-way through a write, not reading, or waiting.
TEST_F(Hostile, SigtermEndsTheServerInTimeWhateverItsClientsDo) {
    serve("memory:64M", {"--queue-depth", "1"});
    RawClient silent(socket_);
    RawClient negotiating(socket_);
    negotiating.receive(nbd::greeting_bytes);
    negotiating.number(uint32_t{3}).number(nbd::option_magic).send();
    RawClient idle(socket_, "");
    RawClient half(socket_, "");
    half.request(1, 0, 65536);
    half.text(std::string(1000, 'h')).send();
    RawClient skipping(socket_, "");
    skipping.request(1, 64 * mib, 65536);
    skipping.text(std::string(1000, 's')).send();
    std::vector<std::unique_ptr<RawClient>> mutes;
    for (int i = 0; i < 3; ++i) {
        mutes.push_back(std::make_unique<RawClient>(socket_, ""));
        for (int n = 0; n < 200; ++n) mutes.back()->request(0, 0, 131072);
        mutes.back()->send();
    }
    ASSERT_TRUE(eventually([&] { return read_io().reads >= 200; }));
    server_->signal(SIGTERM);
    EXPECT_TRUE(eventually([&] { return !server_->running(); }));
    EXPECT_EQ(server_->wait(), 0);
}

TEST_F(Hostile, AClientThatErrsInALoopDoesNotFillTheLog) {
    serve("memory:1M");
    for (int i = 0; i < 200; ++i) {
        RawClient client(socket_);
        client.number(~uint32_t{0}).send();
        ASSERT_TRUE(client.closed());
    }
    const std::string log = server_->output();
    EXPECT_LT(std::count(log.begin(), log.end(), '\n'), 100) << log;
    EXPECT_NE(log.find(" refused: "), std::string::npos);
}

TEST_F(Hostile, AWriteThatStopsHalfWayLeavesNoTrace) {
    serve("memory:1M");
    {
        RawClient client(socket_, "");
        client.request(1, 0, 4096);
        client.text(std::string(1000, 'h'));
        client.send();
    }
    ASSERT_TRUE(eventually([&] { return read_command_count("connections") == 0; }));
    EXPECT_EQ(read_io().writes, 0u);
    Client client(uri());
    EXPECT_EQ(client.read(0, 4096), std::vector<char>(4096, '\0'));
}

TEST_F(Hostile, AThousandConnectionsDroppedAnywhereLeaveDescriptorsAndMemoryAsTheyWere) {
    serve("memory:8M", {"--workers", "1"});  // one more would be descriptors and memory, too
    expect_undisturbed();
    ASSERT_TRUE(eventually([&] { return read_command_count("connections") == 0; }));
    const size_t descriptors_before = descriptors();
    const uint64_t memory_before = resident_kib();
    std::mt19937 random(20261121);
    for (int i = 0; i < 1000; ++i) {
        RawClient client(socket_);
        const auto stage = random() % 5;
        if (stage == 0) continue;
        client.receive(nbd::greeting_bytes);
        if (stage == 1) continue;
        client.number(uint32_t{3});
        client.option(1, 0);
        client.send();
        client.receive(10);
        if (stage == 2) continue;
        client.request(1, 0, 65536);
        if (stage == 3) client.text(std::string(random() % 65536, 'd'));
        if (stage == 4) client.text(std::string(65536, 'd'));
        client.send();
    }
    EXPECT_TRUE(eventually([&] { return read_command_count("connections") == 0; }));
    EXPECT_TRUE(eventually([&] { return descriptors() <= descriptors_before; }))
        << descriptors() << " against " << descriptors_before;
    EXPECT_LT(resident_kib(), memory_before + grown_kib(24));
    expect_undisturbed();
}

// A server of another project fell over when the reset met a reply that was still to be sent.
TEST_F(Hostile, ResetsWithRepliesUnderWayEndTheirConnectionsOnly) {
    const std::string server = serve_tcp(make_image("disk.img", 8 * mib));
    const auto port = static_cast<uint16_t>(std::stoul(server.substr(server.rfind(':') + 1)));
    for (int i = 0; i < 100; ++i) {
        RawClient client(port);
        client.reset_at_the_end();
        client.enter_extended(true);
        for (int n = 0; n < 20; ++n) {
            client.extended_request(nbd::Command::read, 0, mib);
            client.extended_request(nbd::Command::block_status, 0, 8 * mib);
            client.extended_request(nbd::Command::write_zeroes, 0, mib,
                                    nbd::command_flag::fua | nbd::command_flag::no_hole);
        }
        client.send();
        if (i % 2 == 0) client.receive(nbd::extended_reply_bytes);
    }
    EXPECT_TRUE(eventually([&] { return read_command_count("connections") == 0; }));
    EXPECT_EQ(read_io().rcnt, 0u);
    Client bystander(server + "/disk.img");
    EXPECT_EQ(bystander.try_read(0, 4096), 0);
}

TEST_F(Hostile, NoMoreConnectionsThanAllowed) {
    serve("memory:1M", {"--max-connections", "2"});
    auto one = std::make_unique<RawClient>(socket_);
    auto two = std::make_unique<RawClient>(socket_);
    one->enter_transmission();
    two->enter_transmission();
    RawClient three(socket_);
    EXPECT_TRUE(three.closed());
    one.reset();
    EXPECT_TRUE(eventually([&] {
        RawClient next(socket_);
        return next.receive(nbd::greeting_bytes).size() == nbd::greeting_bytes;
    }));
}

}  // namespace
}  // namespace blkscope::test
