// The commands beyond reading and writing, through libnbd: holes, zeroes, status and hints. Also
// the effect of libnbd's own limits and of an old handshake.

#include <gtest/gtest.h>
#include <libnbd.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "served_device.hpp"

namespace blkscope::test {
namespace {

using Descriptors = std::vector<std::pair<uint32_t, uint32_t>>;  // length, flags

class NbdCommands : public ServedDevice {
  protected:
    /// The block status of a range; the errno is in error_ if there is none.
    Descriptors status(Client& client, uint64_t offset, uint64_t bytes, uint32_t flags = 0) {
        Descriptors seen;
        const auto take = [](void* user, const char*, uint64_t, uint32_t* words, size_t count,
                             int*) {
            for (size_t i = 0; i + 1 < count; i += 2) {
                static_cast<Descriptors*>(user)->emplace_back(words[i], words[i + 1]);
            }
            return 0;
        };
        const nbd_extent_callback callback{.callback = take, .user_data = &seen, .free = nullptr};
        const int status = nbd_block_status(client.get(), bytes, offset, callback, flags);
        error_ = status < 0 ? nbd_get_errno() : 0;
        return seen;
    }

    struct Piece {
        uint64_t offset;
        size_t bytes;
        unsigned status;
        friend bool operator==(const Piece&, const Piece&) = default;
    };

    /// The chunks that a read is made of.
    std::vector<Piece> pieces(Client& client, uint64_t offset, size_t bytes, uint32_t flags = 0) {
        std::vector<Piece> seen;
        std::vector<char> data(bytes);
        const auto take = [](void* user, const void*, size_t count, uint64_t at, unsigned status,
                             int*) {
            static_cast<std::vector<Piece>*>(user)->push_back({at, count, status});
            return 0;
        };
        const nbd_chunk_callback callback{.callback = take, .user_data = &seen, .free = nullptr};
        EXPECT_EQ(nbd_pread_structured(client.get(), data.data(), bytes, offset, callback, flags),
                  0);
        return seen;
    }

    static uint64_t allocated_bytes(const std::string& path) {
        struct stat info {};
        EXPECT_EQ(stat(path.c_str(), &info), 0);
        return static_cast<uint64_t>(info.st_blocks) * 512;
    }

    int error_ = 0;
};

class EachSparseBacking : public NbdCommands, public ::testing::WithParamInterface<const char*> {
  protected:
    void SetUp() override {
        NbdCommands::SetUp();
        const std::string kind = GetParam();
        const auto options =
            kind == "direct" ? std::vector<std::string>{"--direct"} : std::vector<std::string>{};
        serve(kind == "memory" ? "memory:16M" : make_image("disk.img", 16 * mib), options);
    }
};
INSTANTIATE_TEST_SUITE_P(Backings, EachSparseBacking, ::testing::Values("file", "direct", "memory"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(EachSparseBacking, BlockStatusTellsDataFromHoles) {
    Client client(uri());
    ASSERT_EQ(client.try_write(4 * mib, mib), 0);
    EXPECT_EQ(status(client, 0, 16 * mib), (Descriptors{{4 * mib, 3}, {mib, 0}, {11 * mib, 3}}));
    EXPECT_EQ(status(client, 4 * mib + 4096, 8192), (Descriptors{{8192, 0}}));
    EXPECT_EQ(status(client, 0, 16 * mib, LIBNBD_CMD_FLAG_REQ_ONE), (Descriptors{{4 * mib, 3}}));
    EXPECT_EQ(status(client, 0, 65536, LIBNBD_CMD_FLAG_REQ_ONE), (Descriptors{{65536, 3}}));
    EXPECT_EQ(read_command_count("block_status_requests"), 4u);
    EXPECT_EQ(read_io().rlastupdate != 0, true);
    EXPECT_EQ(read_io().reads, 0u);
}

TEST_P(EachSparseBacking, AReadTellsHolesUnlessItMustBeOnePiece) {
    Client client(uri());
    ASSERT_EQ(client.try_write(4 * mib, mib), 0);
    EXPECT_EQ(pieces(client, 0, mib), (std::vector<Piece>{{0, mib, LIBNBD_READ_HOLE}}));
    EXPECT_EQ(pieces(client, 4 * mib - 65536, 2 * mib),
              (std::vector<Piece>{{4 * mib - 65536, 65536, LIBNBD_READ_HOLE},
                                  {4 * mib, mib, LIBNBD_READ_DATA},
                                  {5 * mib, mib - 65536, LIBNBD_READ_HOLE}}));
    EXPECT_EQ(pieces(client, 0, mib, LIBNBD_CMD_FLAG_DF),
              (std::vector<Piece>{{0, mib, LIBNBD_READ_DATA}}));
    EXPECT_EQ(client.read(4 * mib - 4096, 4096), std::vector<char>(4096, '\0'));
    EXPECT_EQ(client.read(4 * mib, 4096), std::vector<char>(4096, 'x'));
    const kstat_io_t io = read_io();
    EXPECT_EQ(io.reads, 5u);
    EXPECT_EQ(io.nread, 4 * mib + 8192);
}

TEST_P(EachSparseBacking, ZeroesAreHolesUnlessTheRangeIsToStayProvisioned) {
    Client client(uri());
    ASSERT_EQ(client.try_write(0, 8 * mib), 0);
    ASSERT_EQ(nbd_zero(client.get(), 2 * mib, mib, LIBNBD_CMD_FLAG_FUA), 0);
    EXPECT_EQ(status(client, 0, 8 * mib), (Descriptors{{mib, 0}, {2 * mib, 3}, {5 * mib, 0}}));
    ASSERT_EQ(nbd_zero(client.get(), 2 * mib, 4 * mib,
                       LIBNBD_CMD_FLAG_NO_HOLE | LIBNBD_CMD_FLAG_FAST_ZERO),
              0);
    EXPECT_EQ(client.read(4 * mib, 2 * mib), std::vector<char>(2 * mib, '\0'));
    EXPECT_EQ(client.read(6 * mib, 512), std::vector<char>(512, 'x'));
    EXPECT_EQ(read_command_count("write_zeroes_requests"), 2u);
    EXPECT_EQ(read_command_count("write_zeroes_bytes"), 4 * mib);
}

TEST_F(NbdCommands, ZeroesGiveAFilesBlocksBackAndNoHoleKeepsThem) {
    const std::string image = make_image("disk.img", 16 * mib);
    serve(image);
    Client client(uri());
    ASSERT_EQ(nbd_zero(client.get(), 8 * mib, 0, LIBNBD_CMD_FLAG_NO_HOLE), 0);
    EXPECT_GE(allocated_bytes(image), 8 * mib);
    ASSERT_EQ(nbd_zero(client.get(), 8 * mib, 0, 0), 0);
    EXPECT_LT(allocated_bytes(image), mib);
}

TEST_F(NbdCommands, UnalignedZeroesTakeTheirNeighboursNothing) {
    serve(make_image("disk.img", mib));
    Client client(uri());
    ASSERT_EQ(client.try_write(0, mib), 0);
    ASSERT_EQ(nbd_zero(client.get(), 100'000, 12'345, 0), 0);
    EXPECT_EQ(client.read(12'344, 1), std::vector<char>(1, 'x'));
    EXPECT_EQ(client.read(12'345, 100'000), std::vector<char>(100'000, '\0'));
    EXPECT_EQ(client.read(112'345, 1), std::vector<char>(1, 'x'));
}

TEST_F(NbdCommands, CacheIsAnsweredAndCounted) {
    serve(make_image("disk.img", 4 * mib));
    Client client(uri());
    EXPECT_EQ(nbd_cache(client.get(), 4 * mib, 0, 0), 0);
    EXPECT_EQ(read_command_count("cache_requests"), 1u);
    EXPECT_EQ(read_command_count("cache_bytes"), 4 * mib);
}

// Past the page cache there is none to fill: it is not offered, and does no harm.
TEST_F(NbdCommands, CacheIsNotOfferedWithDirectIoAndSucceedsAllTheSame) {
    serve(make_image("disk.img", 4 * mib), {"--direct"});
    Client client(uri());
    EXPECT_EQ(nbd_can_cache(client.get()), 0);
    EXPECT_EQ(nbd_cache(client.get(), 4 * mib, 0, 0), 0);
}

TEST_F(NbdCommands, ABadlyFragmentedFileIsToldInPartsThatAddUp) {
    const std::string image = make_image("disk.img", 16 * mib);
    serve(image);
    Client client(uri());
    for (uint64_t at = 0; at < 16 * mib; at += 16384) ASSERT_EQ(client.try_write(at, 4096), 0);
    uint64_t at = 0;
    int asked = 0;
    for (; at < 16 * mib && asked < 100; ++asked) {
        const auto seen = status(client, at, 16 * mib - at);
        ASSERT_EQ(error_, 0);
        ASSERT_LE(seen.size(), 256u);
        for (const auto& [length, flags] : seen) {
            ASSERT_EQ(flags, at % 16384 == 0 ? 0u : 3u);
            at += length;
        }
    }
    EXPECT_EQ(at, 16 * mib);
    EXPECT_EQ(asked, 8);  // 2048 extents
}

TEST_F(NbdCommands, AHoleOfMoreThan4GigabytesIsToldAsFarAsADescriptorReaches) {
    serve("memory:64G");
    Client client(uri());
    EXPECT_EQ(status(client, 0, 4 * gib - 1), (Descriptors{{0xffff0000, 3}}));
    EXPECT_EQ(status(client, 0, 0xffff0000), (Descriptors{{0xffff0000, 3}}));
    EXPECT_EQ(status(client, 60 * gib, 4 * gib - 512), (Descriptors{{0xffff0000, 3}}));
    EXPECT_EQ(status(client, 64 * gib - 512, 512), (Descriptors{{512, 3}}));
}

TEST_F(NbdCommands, EachWrongRequestGetsItsErrorInChunksToo) {
    serve("memory:1M");
    Client client(uri());
    status(client, mib, 512);
    EXPECT_EQ(error_, EINVAL);
    status(client, 0, 0);
    EXPECT_EQ(error_, EINVAL);
    status(client, 0, 512, LIBNBD_CMD_FLAG_DF);
    EXPECT_EQ(error_, EINVAL);
    EXPECT_EQ(client.try_read(mib - 1, 2), EINVAL);
    EXPECT_EQ(status(client, 0, 512), (Descriptors{{512, 3}}));
}

// The handshake of the oldest clients: no options but the name, so no limits and no chunks.
TEST_F(NbdCommands, AClientThatNeverLearntTheLimitsMaySend64Megabytes) {
    serve("memory:128M");
    nbd_handle* nbd = nbd_create();
    nbd_set_strict_mode(nbd, 0);
    nbd_set_handshake_flags(nbd, 0);
    ASSERT_EQ(nbd_connect_uri(nbd, uri().c_str()), 0) << nbd_get_error();
    EXPECT_EQ(nbd_get_structured_replies_negotiated(nbd), 0);
    std::vector<char> data(64 * mib, 'M');
    EXPECT_EQ(nbd_pwrite(nbd, data.data(), data.size(), mib, 0), 0);
    data.assign(data.size(), '\0');
    EXPECT_EQ(nbd_pread(nbd, data.data(), data.size(), mib, 0), 0);
    EXPECT_EQ(data, std::vector<char>(data.size(), 'M'));
    EXPECT_EQ(nbd_zero(nbd, 64 * mib, 0, 0), 0);
    EXPECT_EQ(nbd_pread(nbd, data.data(), 512, 0, LIBNBD_CMD_FLAG_DF), -1);
    EXPECT_EQ(nbd_get_errno(), EINVAL);
    EXPECT_EQ(read_io().writes, 1u);
    EXPECT_EQ(read_io().nwritten, 64 * mib);
    nbd_close(nbd);
}

TEST_F(NbdCommands, TheLargestRequestsOfManyClientsTakeTurns) {
    serve("memory:64M");
    std::vector<nbd_handle*> clients;
    std::vector<std::vector<char>> data(3, std::vector<char>(64 * mib));
    for (auto& into : data) {
        nbd_handle* nbd = clients.emplace_back(nbd_create());
        nbd_set_handshake_flags(nbd, 0);
        ASSERT_EQ(nbd_connect_uri(nbd, uri().c_str()), 0) << nbd_get_error();
        ASSERT_GE(nbd_aio_pread(nbd, into.data(), into.size(), 0, nbd_completion_callback{}, 0), 0);
    }
    for (nbd_handle* nbd : clients) {
        while (nbd_aio_in_flight(nbd) > 0) ASSERT_GE(nbd_poll(nbd, 20'000), 0);
        nbd_close(nbd);
    }
    EXPECT_EQ(read_io().reads, 3u);
    EXPECT_EQ(read_io().nread, 192 * mib);
}

// ---- The front of it ----

TEST_F(NbdCommands, ADescriptionIsWhatTheUserSays) {
    serve("memory:1M", {"--description", "the café's disk"});
    Client client(uri());
    nbd_handle* nbd = nbd_create();
    nbd_set_full_info(nbd, true);
    ASSERT_EQ(nbd_connect_uri(nbd, uri().c_str()), 0) << nbd_get_error();
    char* text = nbd_get_export_description(nbd);
    EXPECT_STREQ(text, "the café's disk");
    std::free(text);
    nbd_close(nbd);
}

TEST_F(NbdCommands, HiddenExportsAreServedToWhoKnowsTheirNames) {
    serve("memory:1M", {"--no-list"});
    Client client(uri("memory"));
    EXPECT_EQ(client.try_read(0, 512), 0);
    nbd_handle* nbd = nbd_create();
    nbd_set_opt_mode(nbd, true);
    ASSERT_EQ(nbd_connect_uri(nbd, uri().c_str()), 0) << nbd_get_error();
    const nbd_list_callback nobody{.callback = [](void*, const char*, const char*) { return 0; },
                                   .user_data = nullptr,
                                   .free = nullptr};
    EXPECT_EQ(nbd_opt_list(nbd, nobody), -1);
    EXPECT_EQ(nbd_opt_go(nbd), 0) << nbd_get_error();
    nbd_close(nbd);
}

TEST_F(NbdCommands, WithSimpleRepliesOnlyLibnbdReadsAndWritesWithoutBlockStatus) {
    serve("memory:1M", {"--replies", "simple"});
    Client client(uri("memory"));
    EXPECT_EQ(nbd_get_structured_replies_negotiated(client.get()), 0);
    EXPECT_EQ(nbd_can_meta_context(client.get(), LIBNBD_CONTEXT_BASE_ALLOCATION), 0);
    EXPECT_EQ(client.try_write(512, 512), 0);
    EXPECT_EQ(client.try_read(0, 65536), 0);
    EXPECT_EQ(status(client, 0, 512), Descriptors{});
    EXPECT_NE(error_, 0);
}

TEST_F(NbdCommands, ANameOf4096BytesOfUtf8IsServed) {
    std::string name;
    while (name.size() < 4096) name += "é";
    serve(name + "=memory:1M");
    Client client(uri());
    EXPECT_EQ(client.try_read(0, 512), 0);
    nbd_handle* nbd = nbd_create();
    nbd_set_export_name(nbd, name.c_str());
    ASSERT_EQ(nbd_connect_unix(nbd, socket_.c_str()), 0) << nbd_get_error();
    nbd_close(nbd);
    const CommandResult longer = run({BLKSCOPE_BINARY, "serve", name + "x=memory:1M"});
    EXPECT_EQ(longer.status, 2) << longer.output;
}

}  // namespace
}  // namespace blkscope::test
