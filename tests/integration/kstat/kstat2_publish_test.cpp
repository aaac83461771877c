// kstat2s between processes: the socket, privilege, and children.
#include <gtest/gtest.h>
#include <sys/kstat2.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "child_process.hpp"
#include "kstat/wire/kstat2.hpp"

namespace blkscope {

namespace {

namespace wire = kstat::wire;
namespace wire2 = kstat2::wire;
using wire::Op;

/// A reader's end of a provider's socket, spoken to byte by byte.
class Client {
  public:
    explicit Client(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
        const sockaddr_un address = address_of(path);
        connected_ =
            connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
        const wire::Hello hello{wire::magic, wire::version};
        connected_ = connected_ && ask(Op::hello, wire::bytes_of(hello)).error == 0;
    }
    ~Client() { close(socket_); }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    struct Reply {
        int error = -1;
        std::vector<std::byte> body;
    };

    bool is_connected() const { return connected_; }

    Reply ask(Op op, wire::Bytes body = {}) {
        const auto request = wire::encode_request(op, 1, body);
        if (send(socket_, request.data(), request.size(), MSG_NOSIGNAL) < 0) return {};
        wire::ReplyHead head{};
        if (recv(socket_, &head, sizeof head, MSG_WAITALL) != sizeof head) return {};
        Reply reply{head.error, std::vector<std::byte>(head.length)};
        if (head.length > 0) recv(socket_, reply.body.data(), head.length, MSG_WAITALL);
        return reply;
    }

    std::vector<kstat2::Map> list() {
        const wire2::ListFrom from{0, 0};
        const auto page = wire2::decode_page(ask(Op::kstat2_list, wire::bytes_of(from)).body, 0);
        return page ? page->maps : std::vector<kstat2::Map>();
    }

    Reply read(kid_t kid) {
        const wire2::MapId id{kid, 0};
        return ask(Op::kstat2_read, wire::bytes_of(id));
    }

  private:
    int socket_;
    bool connected_ = false;
};

kstat2_t* publish_value(const char* name, uint64_t value,
                        kstat2_metaflag_t flags = KSTAT2_MF_NONE) {
    const char* segments[] = {"misc", "published", name};
    kstat2_t* const ksp =
        kstat2_create(segments, 3, ALL_ZONES, nullptr, 1, 0, nullptr, "a test's", flags);
    kstat2_nv_init(KSTAT2_NAMED_PTR(ksp), "n", KSTAT2_NVVT_INT, KSTAT2_NVF_NONE);
    KSTAT2_NAMED_PTR(ksp)->value.integer = value;
    kstat2_install(ksp);
    return ksp;
}

/// Publishes one open and one private kstat, until told to go on; then only the private one.
void provide(const Line& line) {
    kstat2_t* const open = publish_value("open", 17);
    publish_value("private", 18, KSTAT2_MF_PRIV);
    take_turns(line);
    kstat2_delete(open);
    line.say('d');
    line.hear();
}

class Kstat2Publish : public KstatProcesses {
  protected:
    std::string path_of(pid_t pid) const { return directory + "/" + socket_of(pid); }
};

TEST_F(Kstat2Publish, AProcessWithoutOtherKstatsHasItsSocket) {
    ReadyChild provider(provide);
    Client client(path_of(provider.pid()));
    ASSERT_TRUE(client.is_connected());
    const auto maps = client.list();
    ASSERT_EQ(maps.size(), 2U);
    EXPECT_EQ(maps[0].path, "/misc/published/open");
    EXPECT_EQ(maps[1].metaflags, static_cast<uint32_t>(KSTAT2_MF_PRIV));
    const auto values = wire2::decode_values(client.read(maps[0].kid).body);
    ASSERT_TRUE(values);
    EXPECT_EQ(std::get<uint64_t>(values->values.at(0).data), 17U);
    EXPECT_GT(values->snaptime, maps[0].crtime);
    open();
    EXPECT_EQ(lookup("published"), nullptr) << "no kstat of the first kind";
}

TEST_F(Kstat2Publish, AConnectedReaderNoticesADeletion) {
    ReadyChild provider(provide);
    Client client(path_of(provider.pid()));
    const auto maps = client.list();
    ASSERT_EQ(maps.size(), 2U);
    const auto before = wire2::decode_generation(client.ask(Op::kstat2_generation).body);
    provider.line().say('d');
    ASSERT_EQ(provider.line().hear(), 'd');
    EXPECT_NE(wire2::decode_generation(client.ask(Op::kstat2_generation).body), before);
    EXPECT_EQ(client.list().size(), 1U);
    EXPECT_EQ(client.read(maps[0].kid).error, ENXIO);
}

TEST_F(Kstat2Publish, AnotherUserDoesNotLearnOfAPrivateKstat) {
    if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root becomes another user";
    ReadyChild provider(provide);
    const std::string path = path_of(provider.pid());
    const ChildProcess stranger([&path](const Line& line) {
        constexpr uid_t nobody = 65534;
        if (setresgid(nobody, nobody, nobody) != 0 || setresuid(nobody, nobody, nobody) != 0)
            return;
        Client client(path);
        const auto maps = client.list();
        line.say(maps.size() == 1 && maps[0].path == "/misc/published/open" ? 'y' : 'n');
        line.say(client.read(maps.empty() ? 0 : maps[0].kid + 1).error == ENXIO ? 'y' : 'n');
        line.say(client.ask(Op::kstat2_optional_set).error == EPERM ? 'y' : 'n');
    });
    EXPECT_EQ(stranger.line().hear(), 'y') << "it sees the open one only";
    EXPECT_EQ(stranger.line().hear(), 'y') << "and cannot read the other";
    EXPECT_EQ(stranger.line().hear(), 'y') << "nor turn anything on";
}

// The thread that answers installs a kstat while the one that exits waits for it.
TEST_F(Kstat2Publish, AProcessMayExitWhileACallbackInstalls) {
    ReadyChild provider([](const Line& line) {
        static std::atomic<bool> is_called{false};
        kstat2_register_optional(
            "test:exit", "installs for a while",
            [](kstat2_opt_id_t, int, void*) {
                is_called = true;
                is_called.notify_one();
                const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
                while (std::chrono::steady_clock::now() < end)
                    kstat2_delete(publish_value("again", 1));
                return 0;
            },
            nullptr);
        publish_value("open", 1);
        line.say('r');
        is_called.wait(false);
    });
    Client client(path_of(provider.pid()));
    const auto optionals = wire2::decode_optionals(client.ask(Op::kstat2_optional_list).body);
    ASSERT_TRUE(optionals && optionals->size() == 1);
    const wire2::SetOptional on{optionals->at(0).id, 1};
    client.ask(Op::kstat2_optional_set, wire::bytes_of(on));
    EXPECT_EQ(provider.wait(), 0);
}

TEST_F(Kstat2Publish, AChildPublishesNothingOfItsParents) {
    ChildProcess provider([](const Line& line) {
        kstat2_t* const parents = publish_value("parent", 1);
        const pid_t child = fork_while_others_sleep();
        if (child == 0) {
            publish_value("child", 2);
            kstat2_delete(parents);  // its memory is the child's to give back
            line.say('c');
            line.hear();
            std::exit(0);
        }
        line.hear();
        waitpid(child, nullptr, 0);
    });
    ASSERT_EQ(provider.line().hear(), 'c');
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        Client client(entry.path());
        const auto maps = client.list();
        ASSERT_EQ(maps.size(), 1U);
        paths.push_back(maps[0].path);
    }
    std::sort(paths.begin(), paths.end());
    EXPECT_EQ(paths, (std::vector<std::string>{"/misc/published/child", "/misc/published/parent"}));
    provider.line().say('q');
    provider.line().say('q');
    EXPECT_EQ(provider.wait(), 0);
}

}  // namespace

}  // namespace blkscope
