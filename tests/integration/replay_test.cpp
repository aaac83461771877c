// Recorded requests, sent again to another server, which records them once more.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "credentials.hpp"
#include "served_device.hpp"

namespace blkscope::test {
namespace {

/// The operation, flags, offset and length of a recorded request.
using CsvRow = std::vector<std::string>;

class Replayed : public ServedDevice {
  protected:
    /// In the order in which the device got them. Requests of one receive have the same stamp of
    /// arrival. Each request has a stamp of its own in the queue.
    static std::vector<CsvRow> rows_of(const std::string& csv) {
        std::istringstream lines(csv);
        std::string line;
        std::getline(lines, line);
        const std::vector<std::string> names = split(line);
        const auto column = [&](const std::string& name) {
            return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
        };
        std::vector<std::pair<int64_t, CsvRow>> found;
        while (std::getline(lines, line)) {
            std::vector<std::string> values = split(line);
            values.resize(names.size());
            CsvRow row;
            for (const char* name : {"op", "flags", "offset", "bytes"}) {
                row.push_back(values[column(name)]);
            }
            found.emplace_back(std::stoll(values[column("queued_ns")]), row);
        }
        std::ranges::stable_sort(found, {}, [](const auto& each) { return each.first; });
        std::vector<CsvRow> rows;
        for (auto& [queued, row] : found) rows.push_back(row);
        return rows;
    }
    static std::vector<std::string> split(const std::string& line) {
        std::vector<std::string> parts;
        std::istringstream in(line);
        for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
        return parts;
    }

    /// Each kind of request with each of its flags, three times.
    static void do_requests(Client& client) {
        nbd_handle* const nbd = client.get();
        for (uint64_t at = 0; at < 3 * 65536; at += 65536) {
            EXPECT_EQ(client.try_write(at, 4096, 'a'), 0);
            EXPECT_EQ(client.try_write(at + 4096, 512, 'b', LIBNBD_CMD_FLAG_FUA), 0);
            EXPECT_EQ(client.try_read(at, 8192), 0);
            EXPECT_EQ(nbd_flush(nbd, 0), 0);
            EXPECT_EQ(nbd_trim(nbd, 4096, at + 8192, 0), 0);
            EXPECT_EQ(nbd_trim(nbd, 512, at + 16384, LIBNBD_CMD_FLAG_FUA), 0);
            EXPECT_EQ(nbd_zero(nbd, 4096, at, 0), 0);
            EXPECT_EQ(nbd_zero(nbd, 8192, at, LIBNBD_CMD_FLAG_NO_HOLE), 0);
            EXPECT_EQ(nbd_zero(nbd, 512, at, LIBNBD_CMD_FLAG_FUA | LIBNBD_CMD_FLAG_NO_HOLE), 0);
            nbd_zero(nbd, 4096, at, LIBNBD_CMD_FLAG_FAST_ZERO);  // may be refused
            EXPECT_EQ(nbd_cache(nbd, 4096, at, 0), 0);
            EXPECT_EQ(client.try_write(at + 40960, 512, 'c'), 0);
        }
    }
    static constexpr size_t requests = 36;

    /// The requests of a device when so many are recorded. The last reply is recorded a little
    /// after the client has it.
    std::vector<CsvRow> recorded(const std::string& device, size_t count) {
        std::vector<CsvRow> rows;
        EXPECT_TRUE(eventually([&] {
            rows = rows_of(blkscope({"trace", device}));
            return rows.size() == count;
        })) << rows.size();
        return rows;
    }

    std::string save(const std::string& device) {
        const std::string file = path("trace.bin");
        blkscope({"trace", device, "--format", "ours", "-o", file});
        return file;
    }

    /// A trace of the mixed requests to the first server, which has 4 MiB.
    std::string mixed_trace() {
        serve("memory:4M");
        Client client(uri());
        do_requests(client);
        rows_ = recorded("nbd0", requests);
        return save("nbd0");
    }

    std::vector<CsvRow> rows_;
};

TEST_F(Replayed, AMixedTraceArrivesAsItWasRecorded) {
    const std::string file = mixed_trace();
    const auto other = serve_beside("memory:4M", "other.sock");
    const std::string report = blkscope({"replay", file, uri_at("other.sock"), "--write"});
    EXPECT_EQ(recorded("nbd1", requests), rows_);
    EXPECT_EQ(rows_[1][1], "fua");
    EXPECT_EQ(rows_[8][1], "fua|no_hole");
    EXPECT_EQ(rows_[9][1], "fast_zero");
    EXPECT_TRUE(report.starts_with("36 requests in ")) << report;
    for (const char* op : {"read", "write", "flush", "trim", "write_zeroes", "cache"}) {
        EXPECT_NE(report.find(std::string("\n") + op + " "), std::string::npos) << report;
    }
}

TEST_F(Replayed, AClosedLoopKeepsTheOrderOfTheTraceAlsoOfACsvFile) {
    const std::string file = path("trace.csv");
    blkscope({"trace", "--read", mixed_trace(), "-o", file});
    const auto other = serve_beside("memory:4M", "other.sock", {"--replies", "simple"});
    const std::string report =
        blkscope({"replay", file, uri_at("other.sock"), "--write", "--closed", "8"});
    EXPECT_EQ(recorded("nbd1", requests), rows_);
    EXPECT_NE(report.find(" with 8 under way\n"), std::string::npos) << report;
}

TEST_F(Replayed, TheSameSeedWritesTheSameData) {
    const std::string file = mixed_trace();
    const auto data_of = [&](const std::string& socket, const std::string& seed) {
        const auto server = serve_beside("memory:4M", socket);
        blkscope({"replay", file, uri_at(socket), "--write", "--seed", seed, "--speed", "0.5"});
        Client client(uri_at(socket));
        return client.read(40960, 512);  // written, and not replaced by zeroes
    };
    const std::vector<char> data = data_of("one.sock", "7");
    EXPECT_EQ(data_of("two.sock", "7"), data);
    EXPECT_NE(data_of("three.sock", "8"), data);
}

TEST_F(Replayed, NothingIsSentWithoutTheWordForWrites) {
    const std::string file = mixed_trace();
    const auto other = serve_beside("memory:4M", "other.sock");
    EXPECT_EQ(
        refused({"replay", file, uri_at("other.sock")}, 2),
        "blkscope: replay: the trace has 9 writes, 6 trims, 12 write_zeroes, which change the "
        "data of the export; nothing was sent; give --write if that data may be lost\n");
    EXPECT_EQ(read_command_count("connections", "nbd1"), 0u);
}

TEST_F(Replayed, NothingIsSentThatTheExportCannotHave) {
    const std::string file = mixed_trace();
    const auto small = serve_beside("memory:64K", "small.sock");
    EXPECT_EQ(
        refused({"replay", file, uri_at("small.sock"), "--write"}, 1),
        "blkscope: replay: " + uri_at("small.sock") +
            ": the export has only 65536 bytes; request 13 is a write of 4096 bytes at 65536, "
            "and 21 more cannot be sent; nothing was sent\n");
    const auto read_only = serve_beside("memory:4M", "ro.sock", {"--read-only"});
    const std::string why = refused({"replay", file, uri_at("ro.sock"), "--write"}, 1);
    EXPECT_NE(why.find("the export is read-only; request 1 is a write"), std::string::npos) << why;
    EXPECT_TRUE(recorded("nbd1", 0).empty());
    EXPECT_TRUE(recorded("nbd2", 0).empty());
}

TEST_F(Replayed, AServerThatClosesIsAFailureInOneLine) {
    const std::string file = mixed_trace();
    const auto other = serve_beside("memory:4M", "other.sock", {"--fault", "read:disconnect"});
    const std::string why = refused({"replay", file, uri_at("other.sock"), "--write"}, 1);
    EXPECT_NE(why.find(" of 36 requests were answered\n"), std::string::npos) << why;
    EXPECT_NE(refused({"replay", file, uri_at("nobody.sock"), "--write"}, 1).find("nobody.sock"),
              std::string::npos);
}

TEST_F(Replayed, ATraceCanGoOverTls) {
    const std::string file = mixed_trace();
    make_certificates(path("pki"));
    const auto other =
        serve_beside("memory:4M", "other.sock", {"--tls", "require", "--tls-certs", path("pki")});
    const std::string uri = "nbds+unix:///?socket=" + path("other.sock") + "&tls-certificates=";
    blkscope({"replay", file, uri + path("pki"), "--write"});
    EXPECT_EQ(recorded("nbd1", requests), rows_);
    const std::string why = refused({"replay", file, uri + path("absent"), "--write"}, 2);
    EXPECT_NE(why.find("ca-cert.pem"), std::string::npos) << why;
    std::ofstream(path("pki/ca-crl.pem")) << make_crl(path("pki"), {path("pki/server-cert.pem")});
    const std::string revoked = refused({"replay", file, uri + path("pki"), "--write"}, 1);
    EXPECT_NE(revoked.find("(certificate revoked)"), std::string::npos) << revoked;
}

}  // namespace
}  // namespace blkscope::test
