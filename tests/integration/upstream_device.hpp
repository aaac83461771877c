// Upstream: blkscope in front of another server, for the tests of both.
//
// The other server is a process of its own, which a test may kill, stop and start again.
#pragma once

#include <gtest/gtest.h>
#include <libnbd.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "served_device.hpp"
#include "trace/file.hpp"

namespace blkscope::test {

/// Writes the same blocks with each of `fills` while `restart` kills the server and starts it again.
/// Each write is FUA, so nothing is told of a loss, and nothing may be lost.
inline void expect_no_loss(Client& client, std::string_view fills,
                           const std::function<void()>& restart) {
    for (const char fill : fills) {
        std::thread killer([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            restart();
        });
        for (uint64_t block = 0; block < 400; ++block) {
            EXPECT_EQ(client.try_write(block * 4096, 4096, fill, LIBNBD_CMD_FLAG_FUA), 0);
        }
        killer.join();
        for (uint64_t block = 0; block < 400; ++block) {
            ASSERT_EQ(client.read(block * 4096, 1).front(), fill) << block;
        }
    }
}

class Upstream : public ServedDevice {
  protected:
    static constexpr uint64_t mib = 1 << 20;
    static constexpr uint64_t image_bytes = 64 * mib;

    void TearDown() override {
        if (upstream_) upstream_->signal(SIGCONT);
        ServedDevice::TearDown();
    }

    std::string make_data(const std::string& name) {
        make_image(name, image_bytes);
        std::fstream file(path(name), std::ios::binary | std::ios::in | std::ios::out);
        for (const uint64_t at : {3u, 8u, 9u, 40u}) {
            file.seekp(static_cast<std::streamoff>(at * mib));
            file << std::string(mib, static_cast<char>('a' + at % 26));
        }
        return path(name);
    }
    void start_upstream(const std::vector<std::string>& command, const std::string& uri) {
        upstream_ = std::make_unique<Process>(command, path("upstream.log"));
        ASSERT_TRUE(eventually([&] {
            return run({"nbdinfo", "--size", uri}).status == 0;
        })) << upstream_->output();
    }
    /// Our own server, which can be killed and started again.
    void start_ours(const std::string& image = "disk.img",
                    const std::vector<std::string>& options = {}) {
        upstream_.reset();
        std::filesystem::remove(path("up.sock"));
        upstream_ = serve_beside("disk=" + path(image), "up.sock", options);
    }
    void kill_upstream() {
        upstream_->signal(SIGKILL);
        upstream_->wait();
    }
    [[nodiscard]] std::string our_uri() const { return uri_at("up.sock", "disk"); }

    nlohmann::json info_of(const std::string& of) {
        nlohmann::json info = nlohmann::json::parse(succeed({"nbdinfo", "--json", of}));
        nlohmann::json found;
        for (const auto& [key, value] : info["exports"][0].items()) {
            if (key.starts_with("can_") || key.starts_with("is_") || key.starts_with("block_")) {
                found[key] = value;
            }
        }
        found.erase("can_df");  // of each server's own replies
        found["contexts"] = info["exports"][0].value("contexts", nlohmann::json::array());
        return found;
    }
    /// The protocol's own sizes, if the server tells none.
    static void add_block_sizes(nlohmann::json& info) {
        if (info.contains("block_size_minimum")) return;
        info["block_size_minimum"] = 1;
        info["block_size_preferred"] = 4096;
        info["block_size_maximum"] = 32 * mib;
    }
    /// The same server, and us in front of it with one connection and with several.
    void expect_equal_in_front_of(const std::string& upstream) {
        NEEDS("nbdcopy");
        for (const char* connections : {"1", "3"}) {
            std::filesystem::remove(socket_);
            serve("disk=" + upstream, {"--upstream-connections", connections});
            ASSERT_TRUE(eventually([&] { return run({"nbdinfo", "--size", uri()}).status == 0; }));
            expect_same_offer(upstream);
            expect_same_copies(upstream);
            expect_verified();
            EXPECT_EQ(stop_server(), 0);
        }
    }
    void expect_same_offer(const std::string& upstream) {
        nlohmann::json info = info_of(upstream);
        add_block_sizes(info);
        info["can_multi_conn"] = true;  // our clients share our connections
        EXPECT_EQ(info_of(uri()), info);
    }
    /// Copies from and to both are the same, and so are their holes.
    void expect_same_copies(const std::string& upstream) {
        const std::string disk = make_data("expected.img");
        make_image("other.img", image_bytes);
        std::fstream(path("other.img"), std::ios::binary | std::ios::in | std::ios::out)
            << std::string(mib, 'z');
        for (const auto& [image, before] :
             {std::pair(path("other.img"), disk), std::pair(disk, path("other.img"))}) {
            std::map<std::string, std::string> maps;
            for (const std::string& to : {upstream, uri()}) {
                succeed({"nbdcopy", "--flush", before, upstream});
                succeed({"nbdcopy", "--flush", image, to});
                maps[to] = map_of(upstream);
            }
            EXPECT_EQ(maps[uri()], maps[upstream]);
            EXPECT_EQ(map_of(uri()), maps[upstream]);
            std::map<std::string, uint64_t> allocated;
            for (const std::string& from : {upstream, uri()}) {
                std::filesystem::remove(path("out.img"));
                succeed({"nbdcopy", from, path("out.img")});
                EXPECT_EQ(run({"cmp", path("out.img"), image}).status, 0);
                allocated[from] = allocated_bytes(path("out.img"));
            }
            EXPECT_EQ(allocated[uri()], allocated[upstream]);
        }
    }
    /// The extents; empty if the server does not list them.
    std::string map_of(const std::string& of) {
        if (info_of(of)["contexts"].empty()) return "";
        return succeed({"nbdinfo", "--map", of});
    }
    static uint64_t allocated_bytes(const std::string& file) {
        struct stat status {};
        EXPECT_EQ(::stat(file.c_str(), &status), 0);
        return static_cast<uint64_t>(status.st_blocks) * 512;
    }
    void expect_verified() {
        if (missing("fio")) return;
        succeed({"fio", "--name=verify", "--ioengine=nbd", "--uri=" + uri(), "--rw=randrw",
                 "--bsrange=4k-64k", "--size=16M", "--offset=16M", "--iodepth=16",
                 "--verify=crc32c", "--verify_state_save=0", "--end_fsync=1"});
    }
    /// Us in front of our own server.
    void serve_chain(const std::vector<std::string>& options = {}) {
        make_data("disk.img");
        start_ours();
        serve("disk=" + our_uri(), options);
    }
    /// The state, without the counts behind it.
    std::string state() { return listed_after("upstream "); }
    /// How many connections to the upstream there are.
    std::string connections() { return listed_after("connections "); }
    /// The text that `blkscope list` has behind a word, up to a comma; empty without the word.
    std::string listed_after(std::string_view word) {
        const std::string listed = blkscope({"list", "-v"});
        const size_t at = listed.find(word);
        if (at == std::string::npos) return "";
        const size_t begin = at + word.size();
        return listed.substr(begin, listed.find_first_of(",\n", begin) - begin);
    }
    /// The recorded requests of a device. The file is NAME.trace.
    trace::Trace recorded(const std::string& device) {
        const std::string file = path(device + ".trace");
        blkscope({"trace", device, "--format", "ours", "-o", file});
        std::ifstream in(file, std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(in),
                                std::istreambuf_iterator<char>()};
        auto trace = trace::decode_file(std::as_bytes(std::span(bytes)));
        return trace ? std::move(*trace) : trace::Trace{};
    }
    int try_flush(Client& client) { return nbd_flush(client.get(), 0) == 0 ? 0 : nbd_get_errno(); }

    std::unique_ptr<Process> upstream_;
};

}  // namespace blkscope::test
