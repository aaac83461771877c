// libkstat2 with providers in processes of their own.
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "kstat/wire/kstat2.hpp"
#include "kstat/wire/message.hpp"
#include "kstat2_processes.hpp"

namespace blkscope {

namespace {

using Names = std::vector<std::string>;

class Kstat2Reader : public Kstat2Processes {};

// Passes on what a reader and the provider at a socket say. The end comes when the generation is asked for the nth
// time.
void pass_on_until_asked(int nth, const std::string& directory, const std::string& to,
                         const Line& line) {
    const int reader = accept(listen_as_provider(directory, line), nullptr, nullptr);
    const int provider = socket(AF_UNIX, SOCK_STREAM, 0);
    const sockaddr_un address = address_of(to);
    connect(provider, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    std::array<pollfd, 2> ends{pollfd{reader, POLLIN, 0}, pollfd{provider, POLLIN, 0}};
    for (std::array<char, 65536> bytes;;) {
        poll(ends.data(), ends.size(), -1);
        for (const pollfd& end : ends) {
            if (end.revents == 0) continue;
            const ssize_t length = recv(end.fd, bytes.data(), bytes.size(), 0);
            kstat::wire::RequestHead head;
            std::memcpy(&head, bytes.data(), sizeof head);
            const bool asks =
                end.fd == reader && head.op == uint16_t(kstat::wire::Op::kstat2_generation);
            if (length <= 0 || (asks && --nth == 0)) return;
            send(end.fd == reader ? provider : reader, bytes.data(), size_t(length), MSG_NOSIGNAL);
        }
    }
}

TEST_F(Kstat2Reader, SeesOneTreeOfAllProviders) {
    const ChildProcess one(provide_count({"misc", "one", "a"}, 1));
    const ChildProcess two(provide_count({"misc", "two", "b", "0"}, 2));
    ASSERT_EQ(one.line().hear(), 'r');
    ASSERT_EQ(two.line().hear(), 'r');
    open2();
    EXPECT_EQ(integer("kstat:/misc/one/a", "count"), 1u);
    EXPECT_EQ(integer("/misc/two/b/0", "count"), 2u);
    EXPECT_EQ(names("/"), Names{"misc"});
    EXPECT_EQ(names("/misc/one/a"), (Names{"count", "crtime", "snaptime"}));
    EXPECT_GE(integer("/misc/one/a", "snaptime"), integer("/misc/one/a", "crtime"));
}

TEST_F(Kstat2Reader, HasNoValuesBeforeTheFirstUpdate) {
    const ReadyChild child(provide_count({"misc", "one", "a"}, 1));
    ASSERT_EQ(kstat2_open(&handle, nullptr), KSTAT2_S_OK);
    ASSERT_NE(map("/misc/one/a"), nullptr);
    EXPECT_EQ(nv("/misc/one/a", "count"), nullptr);
    EXPECT_TRUE(names("/misc/one/a").empty());
    kstat2_nv_meta_t meta{};
    EXPECT_EQ(kstat2_nv_meta(map("/misc/one/a"), "count", &meta), KSTAT2_S_OK);
    update();
    EXPECT_EQ(integer("/misc/one/a", "count"), 1u);
}

TEST_F(Kstat2Reader, FollowsWhatComesAndGoes) {
    const ReadyChild child([](const Line& line) {
        kstat2_t* const first = publish_count({"misc", "one", "a"}, 1);
        take_turns(line);
        kstat2_delete(first);
        publish_count({"misc", "one", "b"}, 2);
        take_turns(line);
    });
    open2();
    EXPECT_EQ(names("/misc/one"), Names{"a"});
    child.line().say('n');
    ASSERT_EQ(child.line().hear(), 'r');
    EXPECT_EQ(names("/misc/one"), Names{"a"}) << "the tree changes in updates only";
    update();
    EXPECT_EQ(names("/misc/one"), Names{"b"});
    EXPECT_EQ(integer("/misc/one/b", "count"), 2u);
}

TEST_F(Kstat2Reader, KeepsAValueUntilTheNextUpdate) {
    const ReadyChild child([](const Line& line) {
        kstat2_t* const ksp = publish_count({"misc", "one", "a"}, 1);
        take_turns(line);
        KSTAT2_NAMED_PTR(ksp)->value.integer = 2;
        take_turns(line);
    });
    open2();
    EXPECT_EQ(integer("/misc/one/a", "count"), 1u);
    child.line().say('n');
    ASSERT_EQ(child.line().hear(), 'r');
    EXPECT_EQ(integer("/misc/one/a", "count"), 1u);
    update();
    EXPECT_EQ(integer("/misc/one/a", "count"), 2u);
}

TEST_F(Kstat2Reader, SelectsByTheWholeUri) {
    const ReadyChild child([](const Line& line) {
        publish_count({"misc", "one", "a"}, 1);
        publish_count({"disk", "one", "a"}, 2);
        take_turns(line);
    });
    open2("kstat:/disk/*");
    EXPECT_EQ(names("/"), Names{"disk"});
    EXPECT_EQ(integer("/disk/one/a", "count"), 2u);
}

TEST_F(Kstat2Reader, GoesWithItsProvider) {
    ReadyChild child(provide_count({"misc", "one", "a"}, 1));
    open2();
    kstat2_mapref_t ref = nullptr;
    ASSERT_EQ(kstat2_mapref_alloc(map("/misc/one/a"), &ref), KSTAT2_S_OK);
    child.kill();
    EXPECT_EQ(nv("/misc/one/a", "count"), nullptr);
    kstat2_map_t still = nullptr;
    EXPECT_EQ(kstat2_mapref_deref(ref, &still), KSTAT2_S_OK);
    update();
    EXPECT_EQ(names("/"), Names{});
    EXPECT_EQ(kstat2_mapref_deref(ref, &still), KSTAT2_S_DEL_MAP);
    EXPECT_EQ(still, nullptr);
    EXPECT_EQ(kstat2_mapref_free(&ref), KSTAT2_S_OK);
    EXPECT_EQ(ref, nullptr);
}

TEST_F(Kstat2Reader, LetsAReferenceSurviveUpdatesAndTheHandle) {
    const ReadyChild child(provide_count({"misc", "one", "a"}, 1));
    open2();
    kstat2_mapref_t ref = nullptr;
    ASSERT_EQ(kstat2_mapref_alloc(map("/misc/one/a"), &ref), KSTAT2_S_OK);
    update();
    kstat2_map_t found = nullptr;
    EXPECT_EQ(kstat2_mapref_deref(ref, &found), KSTAT2_S_OK);
    EXPECT_EQ(found, map("/misc/one/a"));
    ASSERT_EQ(kstat2_close(&handle), KSTAT2_S_OK);
    EXPECT_EQ(kstat2_mapref_deref(ref, &found), KSTAT2_S_DEL_MAP);
    kstat2_mapref_free(&ref);
}

TEST_F(Kstat2Reader, WaitsForAStoppedProviderWithinBounds) {
    const ChildProcess stopped(provide_count({"misc", "one", "a"}, 1));
    const ChildProcess alive(provide_count({"misc", "two", "a"}, 2));
    ASSERT_EQ(stopped.line().hear(), 'r');
    ASSERT_EQ(alive.line().hear(), 'r');
    open2();
    stopped.stop();
    EXPECT_LT(milliseconds([&] { update(); }), 5000);
    EXPECT_LT(milliseconds([&] { EXPECT_EQ(nv("/misc/one/a", "count"), nullptr); }), 5000);
    EXPECT_NE(map("/misc/one/a"), nullptr) << "it may come back";
    EXPECT_EQ(integer("/misc/two/a", "count"), 2u);
    EXPECT_LT(milliseconds([&] { update(); }), 500) << "waited for once only";
    stopped.signal(SIGCONT);
    EXPECT_TRUE(eventually([&] {
        update();
        return nv("/misc/one/a", "count") != nullptr;
    }));
}

TEST_F(Kstat2Reader, WaitsForAllSilentProvidersOnce) {
    const auto be_silent = [this](const Line& line) {
        answer_falsely(directory, line, [](int reader) {
            welcome(reader);
            sleep(30);
        });
    };
    const ChildProcess one(be_silent);
    const ChildProcess two(be_silent);
    const ChildProcess three(be_silent);
    const ChildProcess alive(provide_count({"misc", "two", "a"}, 2));
    for (const ChildProcess* child : {&one, &two, &three, &alive}) {
        ASSERT_EQ(child->line().hear(), 'r');
    }
    const double spent = milliseconds([&] { open2(); });
    EXPECT_GE(spent, 900);
    EXPECT_LT(spent, 2'500);
    EXPECT_EQ(integer("/misc/two/a", "count"), 2u);
}

TEST_F(Kstat2Reader, OutlivesAProviderThatEndsWhileItIsAsked) {
    const std::string apart = directory + "/apart";
    mkdir(apart.c_str(), 0755);
    const ReadyChild provider([&](const Line& line) {
        setenv("KSTAT_DIR", apart.c_str(), 1);
        provide_count({"misc", "one", "a"}, 1)(line);
    });
    for (int nth = 2; nth <= 4; ++nth) {
        ReadyChild between([&](const Line& line) {
            pass_on_until_asked(nth, directory, apart + "/" + socket_of(provider.pid()), line);
        });
        open2();
        EXPECT_EQ(nv("/misc/one/a", "count") != nullptr, nth > 2);
        for (int i = 0; i < 3; ++i) update();
        EXPECT_EQ(map("/misc/one/a"), nullptr);
        EXPECT_EQ(between.wait(), 0);
        ASSERT_EQ(kstat2_close(&handle), KSTAT2_S_OK);
    }
}

// Leaves each question for a list to `answer_list`, whose false ends the connection.
void answer_all_but_lists(int reader, const std::function<bool(uint32_t sequence)>& answer_list) {
    welcome(reader);
    for (;;) {
        kstat::wire::RequestHead head{};
        std::array<char, 64> asked;
        if (recv(reader, &head, sizeof head, MSG_WAITALL) <= 0) return;
        if (head.length != 0) recv(reader, asked.data(), head.length, MSG_WAITALL);
        if (head.op == uint16_t(kstat::wire::Op::kstat2_list)) {
            if (!answer_list(head.sequence)) return;
            continue;
        }
        const uint64_t generation = 7;
        const bool wants_it = head.op == uint16_t(kstat::wire::Op::kstat2_generation);
        const uint32_t length = wants_it ? sizeof generation : 0;
        const kstat::wire::ReplyHead reply{length, 0, head.sequence, 1};
        send(reader, &reply, sizeof reply, MSG_NOSIGNAL);
        send(reader, &generation, length, MSG_NOSIGNAL);
    }
}

// One page, with the kstat of this number.
bool send_page(int reader, uint32_t sequence, uint64_t generation, kid_t kid, bool more) {
    kstat2::Map map;
    map.kid = kid;
    map.path = "/misc/" + std::to_string(kid);
    const auto body = kstat2::wire::encode_page(generation, {map}, more);
    const kstat::wire::ReplyHead reply{uint32_t(body.size()), 0, sequence, 1};
    send(reader, &reply, sizeof reply, MSG_NOSIGNAL);
    return send(reader, body.data(), body.size(), MSG_NOSIGNAL) > 0;
}

TEST_F(Kstat2Reader, AsksForAListThatFailedNotAtEachUpdate) {
    const ReadyChild failing([&](const Line& line) {
        answer_falsely(directory, line, [&](int reader) {
            answer_all_but_lists(reader, [&](uint32_t) {
                line.say('l');
                usleep(700'000);
                return false;
            });
        });
    });
    open2();
    for (int i = 0; i < 3; ++i) update();
    ReadyChild alive(provide_count({"misc", "two", "a"}, 2));
    update();
    EXPECT_EQ(integer("/misc/two/a", "count"), 2u);
    failing.signal(SIGKILL);
    EXPECT_EQ(failing.line().hear(), 'l');
    EXPECT_EQ(failing.line().hear(), 'l');  // once more on a new connection
    EXPECT_EQ(failing.line().hear(), 0);
}

TEST_F(Kstat2Reader, TellsOfAProviderThatRefusesItsList) {
    const ReadyChild refusing([&](const Line& line) {
        answer_falsely(directory, line, [](int reader) {
            answer_all_but_lists(reader, [&](uint32_t sequence) {
                const kstat::wire::ReplyHead reply{0, EIO, sequence, 1};
                return send(reader, &reply, sizeof reply, MSG_NOSIGNAL) > 0;
            });
        });
    });
    setenv("KSTAT_WARN", "reader", 1);
    testing::internal::CaptureStderr();
    open2();
    unsetenv("KSTAT_WARN");
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "reader: " + directory + "/" + socket_of(refusing.pid()) +
                  " does not list its kstats; its statistics are left out\n");
}

// Ten pages of one kstat. Before the third page the list changes, once.
TEST_F(Kstat2Reader, AsksAgainForAListThatChangesMeanwhile) {
    const ReadyChild changing([&](const Line& line) {
        answer_falsely(directory, line, [](int reader) {
            int page = 0;
            bool has_changed = false;
            answer_all_but_lists(reader, [&](uint32_t sequence) {
                if (page == 2 && !has_changed) {
                    has_changed = true;
                    page = 0;
                    return send_page(reader, sequence, 7, 3, true);
                }
                const bool more = ++page < 10;
                return send_page(reader, sequence, has_changed ? 7 : 6, page, more);
            });
        });
    });
    setenv("KSTAT_WARN", "reader", 1);
    testing::internal::CaptureStderr();
    open2();
    unsetenv("KSTAT_WARN");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_NE(map("/misc/10"), nullptr);
}

TEST_F(Kstat2Reader, PassesOverAProviderWithoutThisKind) {
    const ReadyChild child(provide_counter("only_v1"));
    open2();
    EXPECT_EQ(names("/"), Names{});
}

TEST_F(Kstat2Reader, ShowsTheFirstOfTwoUnderOnePath) {
    ReadyChild one(provide_count({"misc", "same", "a"}, 1));
    open2();
    ReadyChild two(provide_count({"misc", "same", "a"}, 2));
    update();
    EXPECT_EQ(integer("/misc/same/a", "count"), 1u);
    one.kill();
    update();
    EXPECT_EQ(integer("/misc/same/a", "count"), 2u);
}

TEST_F(Kstat2Reader, TellsThatAKstatIsDormant) {
    const ReadyChild child([](const Line& line) {
        kstat2_t* const ksp = publish_count({"misc", "one", "a"}, 3, KSTAT2_FLAG_PERSISTENT);
        take_turns(line);
        kstat2_delete(ksp);
        take_turns(line);
    });
    open2();
    uint32_t flags = 77;
    ASSERT_EQ(kstat2_map_flags(map("/misc/one/a"), &flags), KSTAT2_S_OK);
    EXPECT_EQ(flags, uint32_t{KSTAT2_MAPF_NONE});
    child.line().say('n');
    ASSERT_EQ(child.line().hear(), 'r');
    update();
    ASSERT_EQ(kstat2_map_flags(map("/misc/one/a"), &flags), KSTAT2_S_OK);
    EXPECT_EQ(flags, uint32_t{KSTAT2_MAPF_DORM});
    EXPECT_EQ(integer("/misc/one/a", "count"), 3u);
}

TEST_F(Kstat2Reader, HidesPrivateKstatsFromOthers) {
    if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root can be somebody else";
    const ReadyChild child([](const Line& line) {
        publish_count({"misc", "one", "open"}, 1);
        publish_count({"misc", "one", "secret"}, 2, 0, KSTAT2_MF_PRIV);
        take_turns(line);
    });
    open2();
    EXPECT_EQ(integer("/misc/one/secret", "count"), 2u);
    kstat2_close(&handle);
    ChildProcess stranger([this](const Line& line) {
        if (setgid(65534) != 0 || setuid(65534) != 0) return;
        open2();
        kstat2_map_t found = nullptr;
        line.say(names("/misc/one") == Names{"open"} ? 'y' : 'n');
        line.say(kstat2_lookup_map(handle, "/misc/one/secret", &found) == KSTAT2_S_NOT_FOUND ? 'y'
                                                                                             : 'n');
    });
    EXPECT_EQ(stranger.line().hear(), 'y');
    EXPECT_EQ(stranger.line().hear(), 'y');
}

TEST_F(Kstat2Reader, FindsNothingWhereThereIsNoRunDirectory) {
    setenv("KSTAT_DIR", (directory + "/missing").c_str(), 1);
    open2();
    EXPECT_EQ(names("/"), Names{});
}

TEST_F(Kstat2Reader, IsNotPermittedWhatMayNotBeOpened) {
    if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root can be somebody else";
    ChildProcess stranger([this](const Line& line) {
        if (chmod(directory.c_str(), 0700) != 0 || setuid(65534) != 0) return;
        kstat2_handle_t untouched = nullptr;
        line.say(kstat2_open(&untouched, nullptr) == KSTAT2_S_NO_PERM ? 'y' : 'n');
    });
    EXPECT_EQ(stranger.line().hear(), 'y');
}

TEST_F(Kstat2Reader, FailsWhereTheSystemDoes) {
    setenv("KSTAT_DIR", "/dev/null", 1);
    kstat2_handle_t untouched = nullptr;
    EXPECT_EQ(kstat2_open(&untouched, nullptr), KSTAT2_S_SYS_FAIL);
    EXPECT_EQ(errno, ENOTDIR);
    EXPECT_EQ(untouched, nullptr);
}

TEST_F(Kstat2Reader, SwitchesOptionalStatistics) {
    const ReadyChild child([](const Line& line) {
        static kstat2_t* extra = nullptr;
        const auto toggle = [](kstat2_opt_id_t, int enable, void*) {
            if (enable != 0) {
                extra = publish_count({"misc", "one", "extra"}, 9);
            } else {
                kstat2_delete(extra);
            }
            return 0;
        };
        publish_count({"misc", "one", "a"}, 1);
        kstat2_register_optional("one:extra", "costs something", toggle, nullptr);
        take_turns(line);
    });
    open2();
    kstat2_optional_t* list = nullptr;
    uint32_t count = 0;
    ASSERT_EQ(kstat2_optional_list(handle, &list, &count), KSTAT2_S_OK);
    ASSERT_EQ(count, 1u);
    EXPECT_STREQ(list->id, "one:extra");
    EXPECT_STREQ(list->desc, "costs something");
    EXPECT_EQ(list->default_state, KSTAT2_OPT_DISABLE);
    EXPECT_EQ(list->state, KSTAT2_OPT_DISABLE);
    EXPECT_EQ(kstat2_optional_list_free(&list), KSTAT2_S_OK);
    EXPECT_EQ(list, nullptr);

    EXPECT_EQ(kstat2_optional_set_state(handle, "one:extra", KSTAT2_OPT_ENABLE), KSTAT2_S_OK);
    update();
    EXPECT_EQ(integer("/misc/one/extra", "count"), 9u);
    EXPECT_EQ(kstat2_optional_set_state(handle, "one:extra", KSTAT2_OPT_DEFAULT), KSTAT2_S_OK);
    update();
    EXPECT_EQ(map("/misc/one/extra"), nullptr);
    EXPECT_EQ(kstat2_optional_set_state(handle, "no:such", KSTAT2_OPT_ENABLE), KSTAT2_S_NOT_FOUND);
}

// Readers beside one another, each with what is its own, while providers come and go.
TEST_F(Kstat2Reader, SurvivesProvidersThatComeAndGo) {
    const ReadyChild steady(provide_count({"misc", "steady", "a"}, 1));
    open2();
    for (int round = 0; round < 20; ++round) {
        ReadyChild passing([](const Line& line) {
            line.say('r');
            for (;;) {
                kstat2_t* const above = publish_count({"misc", "passing", "a"}, 5);
                kstat2_t* const below = publish_count({"misc", "passing", "a", "b"}, 6);
                kstat2_delete(above);
                kstat2_delete(below);
            }
        });
        for (int i = 0; i < 20; ++i) {
            update();
            ASSERT_EQ(integer("/misc/steady/a", "count"), 1u);
            const kstat2_map_t here = map("/misc/passing/a");
            kstat2_nv_t found = nullptr;
            if (here != nullptr && kstat2_map_get(here, "count", &found) == KSTAT2_S_OK) {
                ASSERT_EQ(found->kstat2_integer, 5u);
            }
        }
    }
    update();
    EXPECT_EQ(names("/misc"), Names{"steady"});
}

}  // namespace

}  // namespace blkscope
