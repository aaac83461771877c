// Statistics that are off until a user turns them on.
#include "kstat/registry/optionals.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "kstat/provider/fork.hpp"
#include "support.hpp"

namespace blkscope::kstat2::tests {

namespace {

// The callback of a provider that publishes one kstat while it is on.
struct Offer {
    kstat2_t* ksp = nullptr;
    int calls = 0;
    int result = 0;

    static int turn(kstat2_opt_id_t, int enable, void* arg) {
        auto& self = *static_cast<Offer*>(arg);
        ++self.calls;
        if (self.result != 0) return self.result;
        if (enable != 0) {
            self.ksp = number("misc/optional/one", 1);
        } else {
            kstat2_delete(self.ksp);
            self.ksp = nullptr;
        }
        return 0;
    }
};

class Registered {
  public:
    explicit Registered(Offer& offer, const char* name = "test:offer")
        : id(kstat2_register_optional(name, "what it is", Offer::turn, &offer)) {}
    ~Registered() { kstat2_unregister_optional(id); }
    Registered(const Registered&) = delete;
    Registered& operator=(const Registered&) = delete;

    bool is_on() const {
        for (const Optional& optional : Optionals::of_this_process().list()) {
            if (optional.id == id) return optional.is_on;
        }
        return false;
    }

    const kstat2_opt_id_t id;
};

int set(const Registered& registered, bool on) {
    return Optionals::of_this_process().set(registered.id, on);
}

TEST(Kstat2Optionals, AreListedAndOff) {
    Offer offer;
    const Registered registered(offer);
    const auto list = Optionals::of_this_process().list();
    ASSERT_EQ(list.size(), 1U);
    EXPECT_EQ(list[0], (Optional{registered.id, "test:offer", "what it is", false, false}));
    EXPECT_EQ(offer.calls, 0);
}

TEST(Kstat2Optionals, AreTurnedOnAndOffByTheirCallback) {
    Offer offer;
    const Registered registered(offer);
    EXPECT_EQ(set(registered, true), 0);
    EXPECT_TRUE(registered.is_on());
    ASSERT_NE(offer.ksp, nullptr);
    EXPECT_TRUE(listed(offer.ksp));
    EXPECT_EQ(set(registered, true), 0);
    EXPECT_EQ(offer.calls, 1) << "nothing to do";
    EXPECT_EQ(set(registered, false), 0);
    EXPECT_FALSE(registered.is_on());
    EXPECT_EQ(offer.ksp, nullptr);
}

TEST(Kstat2Optionals, StayAsTheyWereWhenTheCallbackFails) {
    Offer offer;
    const Registered registered(offer);
    offer.result = ENOSPC;
    EXPECT_EQ(set(registered, true), ENOSPC);
    offer.result = -1;
    EXPECT_EQ(set(registered, true), EIO);
    EXPECT_FALSE(registered.is_on());
}

TEST(Kstat2Optionals, UnregisteringCallsNothing) {
    Offer offer;
    kstat2_opt_id_t id = 0;
    {
        const Registered registered(offer);
        id = registered.id;
    }
    EXPECT_EQ(offer.calls, 0);
    EXPECT_EQ(Optionals::of_this_process().set(id, true), ENOENT);
    EXPECT_NE(said([id] { kstat2_unregister_optional(id); }).find("no such id"), std::string::npos);
    const Registered again(offer);
    EXPECT_NE(again.id, id);
}

TEST(Kstat2Optionals, AreRefusedWithOneLine) {
    Offer offer;
    const Registered registered(offer);
    const struct {
        const char* name;
        const char* desc;
        kstat2_opt_cb_t callback;
        const char* reason;
    } table[] = {
        {nullptr, "", Offer::turn, "an argument is NULL"},
        {"a:b", nullptr, Offer::turn, "an argument is NULL"},
        {"a:b", "", nullptr, "an argument is NULL"},
        {"a:bcdefghijklmnopqrstuvwxyz1234", "", Offer::turn, "longer than 30 bytes"},
        {"", "", Offer::turn, "not \"module:what\""},
        {"a", "", Offer::turn, "not \"module:what\""},
        {":a", "", Offer::turn, "not \"module:what\""},
        {"a:", "", Offer::turn, "not \"module:what\""},
        {"a:b:c", "", Offer::turn, "not \"module:what\""},
        {"a:b c", "", Offer::turn, "not \"module:what\""},
        {"test:offer", "", Offer::turn, "the name is taken"},
    };
    for (const auto& row : table) {
        const std::string line = said([&] {
            EXPECT_EQ(kstat2_register_optional(row.name, row.desc, row.callback, nullptr),
                      KSTAT2_OPT_INVALID);
        });
        EXPECT_NE(line.find(row.reason), std::string::npos) << line;
        EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
    }
    Offer other;
    const Registered longest(other, "a:bcdefghijklmnopqrstuvwxyz123");
    EXPECT_NE(longest.id, KSTAT2_OPT_INVALID);
}

TEST(Kstat2Optionals, ACallbackCannotTurnAnything) {
    static int answer = 0;
    const auto id = kstat2_register_optional(
        "test:nested", "",
        [](kstat2_opt_id_t self, int, void*) {
            answer = Optionals::of_this_process().set(self, false);
            return 0;
        },
        nullptr);
    EXPECT_EQ(Optionals::of_this_process().set(id, true), 0);
    EXPECT_EQ(answer, EDEADLK);
    kstat2_unregister_optional(id);
}

// The address sanitizer looks on.
TEST(Kstat2Optionals, ACallbackMayForkAChildThatReturns) {
    kstat::watch_forks();  // as a provider with kstats does
    static pid_t child = -1;
    const auto id = kstat2_register_optional(
        "test:fork", "",
        [](kstat2_opt_id_t, int, void*) {
            child = fork();
            return 0;
        },
        nullptr);
    EXPECT_EQ(Optionals::of_this_process().set(id, true), 0);
    if (child == 0) _exit(Optionals::of_this_process().list().empty() ? 0 : 1);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    kstat2_unregister_optional(id);
}

TEST(Kstat2Optionals, ManyMayTurnTheSameOne) {
    Offer offer;
    const Registered registered(offer);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&registered, t] {
            for (int i = 0; i < 50; ++i) EXPECT_EQ(set(registered, (i + t) % 2 == 0), 0);
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(set(registered, false), 0);
    EXPECT_EQ(offer.ksp, nullptr);
}

}  // namespace

}  // namespace blkscope::kstat2::tests
