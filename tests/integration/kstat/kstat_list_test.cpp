// Providers whose lists are never whole: a reader asks for a part, and not again at each update.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "child_process.hpp"
#include "kstat/wire/message.hpp"

namespace blkscope {

namespace {

// In memory of the test and the provider.
struct Shared {
    std::atomic<int> pages;  // asked for by a reader
    std::atomic<int> error;  // of the second page
    std::atomic<bool> ends;  // the list, with the second page
};

class KstatList : public KstatProcesses {
  protected:
    KstatList() {
        void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        shared = new (memory) Shared{};
    }
    ~KstatList() override { munmap(shared, sizeof(Shared)); }

    // Lists full pages, each after some time.
    std::function<void(const Line&)> list_for_ever(useconds_t us_per_page) {
        return [this, us_per_page](const Line& line) {
            answer_falsely(directory, line, [&](int reader) {
                welcome(reader);
                while (answer(reader, us_per_page)) continue;
            });
        };
    }

    Shared* shared = nullptr;

  private:
    bool answer(int reader, useconds_t us_per_page) const {
        kstat::wire::RequestHead head{};
        kstat::wire::ListFrom from{};
        if (recv(reader, &head, sizeof head, MSG_WAITALL) <= 0) return false;
        if (head.length == sizeof from) recv(reader, &from, sizeof from, MSG_WAITALL);
        const bool lists = head.op == uint16_t(kstat::wire::Op::headers);
        const bool is_second = lists && from.after_kid > 0;
        std::vector<char> body;
        if (lists) {
            ++shared->pages;
            usleep(us_per_page);
            body = page(from.after_kid, !(shared->ends && is_second));
        }
        const int error = is_second ? shared->error.load() : 0;
        if (error != 0) body.clear();
        const kstat::wire::ReplyHead reply{uint32_t(body.size()), error, head.sequence, 7};
        body.insert(body.begin(), sizeof reply, 0);
        std::memcpy(body.data(), &reply, sizeof reply);
        return send(reader, body.data(), body.size(), MSG_NOSIGNAL) > 0;
    }

    static std::vector<char> page(int32_t after_kid, bool more) {
        kstat::wire::Header header{};
        std::strcpy(header.module, "one");
        std::strcpy(header.name, "of_many");
        std::strcpy(header.klass, "misc");
        const kstat::wire::Page head{kstat::wire::headers_per_page, more ? 1U : 0U};
        std::vector<char> body(sizeof head + head.count * sizeof header);
        std::memcpy(body.data(), &head, sizeof head);
        for (uint32_t i = 0; i < head.count; ++i) {
            header.kid = header.instance = after_kid + 1 + int32_t(i);
            std::memcpy(body.data() + sizeof head + i * sizeof header, &header, sizeof header);
        }
        return body;
    }
};

// Each page comes quickly enough for a provider that is not slow.
TEST_F(KstatList, ThatNeverEndsCostsABoundedTimeAndNotAgainAtEachUpdate) {
    const ChildProcess healthy(provide_counter("two"));
    const ChildProcess endless(list_for_ever(190'000));
    for (const ChildProcess* child : {&healthy, &endless}) ASSERT_EQ(child->line().hear(), 'r');
    setenv("KSTAT_WARN", "reader", 1);
    testing::internal::CaptureStderr();
    open();
    unsetenv("KSTAT_WARN");
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "reader: " + directory + "/" + socket_of(endless.pid()) +
                  " answers too slowly; its statistics are left out\n");
    const int pages = shared->pages;
    ASSERT_LE(pages, 55);  // of 190 ms each, in ten seconds
    for (int i = 0; i < 3; ++i) EXPECT_EQ(kstat_chain_update(kc), 0);
    EXPECT_EQ(shared->pages, pages);
    EXPECT_EQ(lookup("one"), nullptr);
    ASSERT_NE(lookup("two"), nullptr);
    EXPECT_NE(kstat_read(kc, lookup("two"), nullptr), -1);
}

// Without a wait for its pages, the list has more kstats than any machine.
TEST_F(KstatList, OfTooManyKstatsIsNotAskedForAtEachUpdate) {
    const ReadyChild endless(list_for_ever(2'000));
    open();
    const int pages = shared->pages;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(kstat_chain_update(kc), 0);
    EXPECT_EQ(shared->pages, pages);
    EXPECT_EQ(lookup("one"), nullptr);
}

// Its kstats are missing then, as they were when the list failed.
TEST_F(KstatList, InThePauseAfterAFailureTheProviderIsTold) {
    const ReadyChild endless(list_for_ever(20'000));
    open();
    const int pages = shared->pages;
    setenv("KSTAT_WARN", "reader", 1);
    testing::internal::CaptureStderr();
    EXPECT_EQ(kstat_chain_update(kc), 0);
    unsetenv("KSTAT_WARN");
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "reader: " + directory + "/" + socket_of(endless.pid()) +
                  " does not list its kstats; its statistics are left out\n");
    EXPECT_EQ(shared->pages, pages);
}

TEST_F(KstatList, ThatFailedIsAskedForAgain) {
    const ReadyChild provider(list_for_ever(20'000));
    shared->error = EINTR;
    open();
    EXPECT_EQ(lookup("one"), nullptr);
    EXPECT_EQ(shared->pages, 2);
    shared->error = 0;
    shared->ends = true;
    EXPECT_TRUE(eventually([&] {
        kstat_chain_update(kc);
        return lookup("one") != nullptr;
    }));
}

}  // namespace

}  // namespace blkscope
