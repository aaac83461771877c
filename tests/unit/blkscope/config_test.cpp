// The contents of a configuration file, and the place that an error message names.
#include "tools/blkscope/config.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "../failure.hpp"
#include "../temporary_folder.hpp"

namespace blkscope {
namespace {

ServiceConfig parse(const std::string& text) {
    return parse_config(text, "lab.json");
}

/// The reason why a file is refused.
std::string trouble(const std::string& text) {
    return failure_of([&] { return parse(text); });
}

constexpr const char* one_export = R"("exports": [{"name": "a", "backing": "memory:1M"}])";

std::string with(const std::string& members) {
    return "{" + members + ", " + one_export + "}";
}

TEST(Config, AnExportNeedsANameAndABackingOnly) {
    ServiceConfig expected;
    expected.exports = {{.name = "a", .backing = "memory:1M"}};
    EXPECT_EQ(parse(std::string("{") + one_export + "}"), expected);
}

TEST(Config, SaysEverythingThatTheCommandLineCan) {
    const ServiceConfig config = parse(R"({
        // a comment
        "listen": ["unix:/run/lab.sock", "127.0.0.1:10809", "[::1]:0"],
        "allow": ["127.0.0.1", "fd00::/8"],
        "list": false,
        "histograms": false,
        "busy-wait": false,
        "replies": "structured",
        "client-by": "address",
        "tls": {"mode": "require", "certs": "/pki", "verify-peer": true, "psk": "/keys.psk"},
        "limits": {"workers": 3, "connections": 9, "handshakes": 3, "handshake-timeout": 4,
                   "recorder": 0},
        "exports": [{"name": "a", "backing": "/disk", "description": "the disk", "read-only": true,
                     "direct": true, "force-shared": true, "queue-depth": 7, "upstream-timeout": 9, "upstream-connections": 4,
                     "order": "fair", "stats-rate": 0, "client-stats": 5, "default": true}]
    })");
    ServiceConfig expected{
        .listen = {{.unix_path = "/run/lab.sock"},
                   {.host = "127.0.0.1", .port = 10809},
                   {.host = "::1", .port = 0}},
        .allow = {"127.0.0.1", "fd00::/8"},
        .workers = 3,
        .busy_wait = false,
        .connections_max = 9,
        .handshakes_max = 3,
        .handshake_seconds = 4,
        .recorder_records = 0,
        .list = false,
        .histograms = false,
        .replies = nbd::ReplyForm::structured,
        .client_by = nbd::ClientBy::address,
        .tls = {.mode = nbd::TlsMode::require,
                .certificates = "/pki",
                .verify_peer = true,
                .psk_file = "/keys.psk"},
        .exports = {{.name = "a",
                     .description = "the disk",
                     .backing = "/disk",
                     .read_only = true,
                     .direct = true,
                     .force_shared = true,
                     .is_default = true,
                     .queue_depth = 7,
                     .order = StartOrder::fair,
                     .stats_rate = 0,
                     .client_stats = 5,
                     .upstream = {.timeout = std::chrono::seconds(9), .connections = 4}}}};
    EXPECT_EQ(config, expected);
}

// A histogram of fio, in which all reads took 1,024 ns to 1,040 ns.
std::string histogram_file() {
    const std::string file = testing::TempDir() + "config_test.json";
    std::ofstream(file) << R"({"jobs": [{"read": {"clat_ns": {"bins": {"1032": 5}}},
        "write": {"clat_ns": {"bins": {"1032": 5}}}}]})";
    return file;
}

BehaviourConfig behaviour(const std::string& members) {
    return parse(R"({"exports": [{"name": "a", "backing": "null:1M", )" + members + "}]}")
        .exports.front()
        .behaviour;
}

TEST(Config, AModelIsATextOrAnObject) {
    const auto model = [](const std::string& json) {
        return behaviour("\"model\": " + json).model.value();
    };
    EXPECT_EQ(model(R"("read=exp:1ms,servers=2")"), parse_model("read=exp:1ms,servers=2"));
    EXPECT_EQ(model(R"({"servers": 2, "read": "exp:1ms", "all": "const:3ms", "seed": 5})"),
              parse_model("all=const:3ms,read=exp:1ms,servers=2,seed=5"));
    EXPECT_EQ(model(R"({"flush": "const:1ms", "preset": "nvme", "per_byte": "0.1ns"})"),
              parse_model("nvme,flush=const:1ms,per_byte=0.1ns"));
    const std::string file = histogram_file();
    EXPECT_EQ(model(R"({"read": "empirical:)" + file + R"(", "write": "empirical:)" + file + "\"}")
                  .text(),
              "read=empirical:" + file + ",write=empirical:" + file);
}

TEST(Config, ALimitIsATextOrAnObject) {
    const auto limit = [](const std::string& json) {
        return behaviour("\"limit\": " + json).limits.value();
    };
    EXPECT_EQ(limit(R"("iops=100,unit=4K")"), model::LimitSpec::parse("iops=100,unit=4K"));
    EXPECT_EQ(limit(R"({"iops": 100, "unit": "4K", "bps": "1M:2M:10M"})"),
              model::LimitSpec::parse("iops=100,unit=4K,bps=1M:2M:10M"));
    EXPECT_EQ(limit(R"({"preset": "gp2:100G"})"), model::LimitSpec::parse("gp2:100G"));
}

TEST(Config, FaultsStayInTheirOrder) {
    const BehaviourConfig config =
        behaviour(R"("faults": ["write:drop", "all:error=EIO"], "seed": 18446744073709551615)");
    EXPECT_EQ(config.faults, (std::vector<std::string>{"write:drop", "all:error=EIO"}));
    EXPECT_EQ(config.seed, std::numeric_limits<uint64_t>::max());
    EXPECT_EQ(behaviour(R"("direct": true)"), BehaviourConfig{});
}

TEST(Config, ACrashCacheIsAText) {
    const auto cache = [](const std::string& members) {
        const std::string text =
            R"({"exports": [{"name": "a", "backing": "null:1M", )" + members + "}]}";
        return parse_config(text, "lab.json").exports.at(0).crash_cache;
    };
    EXPECT_EQ(cache(R"("crash-cache": "64M,ignore-flush")"),
              model::CrashCacheOptions::parse("64M,ignore-flush"));
    EXPECT_EQ(cache(R"("direct": true)"), std::nullopt);
}

TEST(Config, AWrongModelLimitOrFaultHasItsKey) {
    struct {
        const char* members;
        const char* trouble;
    } const cases[] = {
        {R"("model": "read=gauss:1ms")", "model: model 'read=gauss:1ms': distribution"},
        {R"("model": "read=const:-1ms")", "model: model 'read=const:-1ms': "},
        {R"("model": "read=pareto:1ms:1")", "model: model 'read=pareto:1ms:1': "},
        {R"("model": "read=empirical:/dev/null")", "model: model 'read=empirical:/dev/null': "},
        {R"("model": "read=empirical:/nonexistent")", "model: model 'read=empirical:/nonexistent'"},
        {R"("model": "none")", "model: model 'none': "},
        {R"("model": 7)", "model: not an object"},
        {R"("model": {"read": true})", "model.read: neither a string nor a whole number"},
        {R"("model": {"raed": "exp:1ms"})",
         "model.raed: no such key; there are preset, all, read, write, flush, trim, zeroes, cache, "
         "status, per_byte, servers, seed; the nearest is 'read'"},
        {R"("model": {"servers": 2})", "model: model 'servers=2': no operation has a time"},
        {R"("limit": "iops=0")", "limit: limit 'iops=0': "},
        {R"("limit": {"iosp": 3})", "limit.iosp: no such key"},
        {R"("limit": [])", "limit: not an object"},
        {R"("faults": "write:drop")", "faults: not an array"},
        {R"("faults": [7])", "faults[0]: not a string"},
        {R"("faults": ["write:drop", "read:drop"])", "faults[1]: fault 'read:drop': "},
        {R"("faults": ["read:error=EIO;count=0"])", "faults[0]: fault 'read:error=EIO;count=0': "},
        {R"("seed": -1)", "seed: -1 is no whole number"},
        {R"("crash-cache": 1048576)", "crash-cache: not a string"},
        {R"("crash-cache": "")", "crash-cache: crash-cache '': "},
        {R"("crash-cache": "none")", "crash-cache: crash-cache 'none': "},
        {R"("crash-cache": "1M,lies")", "crash-cache: crash-cache '1M,lies': "},
    };
    for (const auto& [members, why] : cases) {
        const std::string said = trouble(std::string(R"({"exports": [{"name": "a", )") +
                                         R"("backing": "null:1M", )" + members + "}]}");
        EXPECT_EQ(said.rfind(std::string("lab.json: exports[0].") + why, 0), 0u)
            << members << " is: " << said;
        EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    }
}

TEST(Config, ASyntaxErrorHasItsLineAndColumn) {
    EXPECT_EQ(trouble("{\n  \"exports\" []\n}").rfind("lab.json: line 2, column 13: ", 0), 0u)
        << trouble("{\n  \"exports\" []\n}");
    EXPECT_EQ(trouble("").rfind("lab.json: line 1, column 1: ", 0), 0u) << trouble("");
}

TEST(Config, AWrongValueHasItsKey) {
    struct {
        const char* members;
        const char* trouble;
    } const cases[] = {
        {R"("listen": "unix:/s")", "listen: not an array"},
        {R"("listen": [7])", "listen[0]: not a string"},
        {R"("listen": ["unix:/s", "nowhere"])", "listen[1]: 'nowhere' is neither"},
        {R"("listen": ["127.0.0.1:70000"])", "listen[0]: port '70000'"},
        {R"("listen": ["unix:"])", "listen[0]: "},
        {R"("allow": ["10.0.0.1/8"])", "allow '10.0.0.1/8': "},
        {R"("limits": [])", "limits: not an object"},
        {R"("limits": {"connections": 0})", "limits.connections: 0 is not 1 to 65536"},
        {R"("limits": {"handshakes": -1})", "limits.handshakes: -1 is not 1 to"},
        {R"("limits": {"handshake-timeout": 1.5})", "limits.handshake-timeout: 1.5 is not"},
        {R"("limits": {"conections": 5})",
         "limits.conections: no such key; there are workers, connections"},
        {R"("limits": {"connections": 1e999})", "number overflow parsing '1e999'"},
        {R"("limit": {})",
         "limit: no such key; there are listen, allow, list, histograms, busy-wait, replies, "
         "client-by, "
         "limits, tls, "
         "exports"},
        {R"("replies": "complex")", "replies: 'complex' is neither simple, structured nor"},
        {R"("replies": true)", "replies: not a string"},
        {R"("list": 1)", "list: neither true nor false"},
        {R"("tls": {})", "tls.mode: missing or empty"},
        {R"("tls": {"mode": "maybe"})", "tls.mode: 'maybe' is neither off, on nor require"},
        {R"("tls": {"mode": "on", "cert": "/pki"})",
         "tls.cert: no such key; there are mode, certs"},
        {R"("allow": [], "allow": [])", "allow: given twice"},
    };
    for (const auto& [members, why] : cases) {
        EXPECT_EQ(trouble(with(members)).rfind(std::string("lab.json: ") + why, 0), 0u)
            << members << " is: " << trouble(with(members));
    }
}

TEST(Config, AWrongExportHasItsKey) {
    struct {
        const char* exports;
        const char* trouble;
    } const cases[] = {
        {"[]", "exports: none"},
        {"{}", "exports: not an array"},
        {"[7]", "exports[0]: not an object"},
        {R"([{"backing": "memory:1M"}])", "exports[0].name: missing"},
        {R"([{"name": "a", "backing": ""}])", "exports[0].backing: missing or empty"},
        {R"([{"name": "a", "backing": 7}])", "exports[0].backing: not a string"},
        {R"([{"name": "a\u0000b", "backing": "null:1M"}])", "exports[0].name: not UTF-8"},
        {R"([{"name": "a", "backing": "null:1M", "direct": 1}])", "exports[0].direct: neither"},
        {R"([{"name": "a", "backing": "null:1M", "queue-depth": 1025}])",
         "exports[0].queue-depth: 1025 is not 1 to 1024"},
        {R"([{"name": "a", "backing": "null:1M", "reed-only": true}])",
         "exports[0].reed-only: no such key"},
        {R"([{"name": "a", "backing": "null:1M"}, {"name": "a", "backing": "null:1M"}])",
         "exports[1].name: 'a' is another export's"},
        {R"([{"name": "a", "backing": "null:1M", "default": true},
             {"name": "b", "backing": "null:1M", "default": true}])",
         "exports[1].default: another export is it"},
    };
    for (const auto& [exports, why] : cases) {
        const std::string said = trouble(std::string("{\"exports\": ") + exports + "}");
        EXPECT_EQ(said.rfind(std::string("lab.json: ") + why, 0), 0u) << exports << " is: " << said;
    }
    EXPECT_EQ(trouble("{}").rfind("lab.json: exports: none", 0), 0u);
    EXPECT_EQ(trouble("[]").rfind("lab.json: not an object", 0), 0u);
}

TEST(Config, AFileThatCannotBeReadIsAnErrorOfTheSystem) {
    EXPECT_THROW(read_config("/nonexistent/lab.json"), std::system_error);
    EXPECT_THROW(read_config("/"), std::system_error);
    EXPECT_THROW(read_config("/dev/null"), std::invalid_argument);  // is empty
}

// A reload reads the file while clients wait to be let in.
TEST(Config, AFileOfMoreThan4MiBIsRefused) {
    const test::TemporaryFolder folder;
    const std::string path = folder / "lab.json";
    const std::string text = "{" + std::string(one_export) + "}";
    std::ofstream(path) << std::string((size_t{4} << 20) - text.size(), ' ') << text;
    EXPECT_EQ(read_config(path).exports.size(), 1u);
    std::ofstream(path, std::ios::app) << ' ';
    EXPECT_EQ(failure_of([&] { return read_config(path); }), path + ": more than 4 MiB");
}

}  // namespace
}  // namespace blkscope
