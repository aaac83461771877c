// blkscope web beside a served device: what it says is what iostat and kstat say.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <list>
#include <nlohmann/json.hpp>
#include <string>

#include "base/descriptor.hpp"
#include "served_device.hpp"
#include "tools/web/exposition.hpp"
#include "unit/web/scrape.hpp"

namespace blkscope::test {
namespace {

using web::Scrape;

class Web : public ServedDevice {
  protected:
    void start_web(const std::vector<std::string>& options = {}) {
        std::vector<std::string> command{BLKSCOPE_BINARY, "web", "--listen",
                                         "unix:" + path("web.sock")};
        command.insert(command.end(), options.begin(), options.end());
        web_ = std::make_unique<Process>(command, path("web.out"), path("web.err"));
        ASSERT_TRUE(
            eventually([&] { return web_->output() == "unix:" + path("web.sock") + "\n"; }));
    }

    // The whole reply to a request, by a connection of its own.
    std::string ask(const std::string& target, const std::string& fields = "") {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path("web.sock").copy(address.sun_path, sizeof address.sun_path - 1);
        const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const auto* const at = reinterpret_cast<const sockaddr*>(&address);
        EXPECT_EQ(::connect(socket.get(), at, sizeof address), 0);
        const std::string request = "GET " + target + " HTTP/1.1\r\nConnection: close\r\n" +
                                    (fields.empty() ? "Host: localhost\r\n" : fields) + "\r\n";
        EXPECT_GT(::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL), 0);
        std::string reply;
        std::array<char, 65536> chunk;
        for (ssize_t count; (count = ::recv(socket.get(), chunk.data(), chunk.size(), 0)) > 0;) {
            reply.append(chunk.data(), static_cast<size_t>(count));
            if (reply.find("\ndata: ") != std::string::npos && reply.ends_with("\n\n")) break;
        }
        return reply;
    }

    std::string body_of(const std::string& target, const std::string& fields = "") {
        const std::string reply = ask(target, fields);
        EXPECT_TRUE(reply.starts_with("HTTP/1.1 200 ")) << reply.substr(0, 200);
        return reply.substr(reply.find("\r\n\r\n") + 4);
    }

    void do_requests() {
        Client client(uri());
        for (int i = 0; i < 7; ++i) ASSERT_EQ(client.try_read(0, 4096), 0);
        for (int i = 0; i < 3; ++i) ASSERT_EQ(client.try_write(0, 512), 0);
        ASSERT_EQ(nbd_flush(client.get(), 0), 0);
    }

    std::unique_ptr<Process> web_;
};

TEST_F(Web, TheMetricsOfAScrapeAreTheCountersOfTheKstat) {
    serve("memory:1M", {"--queue-depth", "5"});
    start_web();
    do_requests();
    const kstat_io_t io = read_io();
    for (const bool open : {false, true}) {
        const std::string fields =
            std::string("Host: localhost\r\nAccept: ") +
            (open ? "application/openmetrics-text;version=1.0.0" : "text/plain") + "\r\n";
        const Scrape scrape(body_of("/metrics", fields), open);
        const auto seconds = [](hrtime_t ns) {
            return web::seconds_text(static_cast<uint64_t>(ns));
        };
        EXPECT_EQ(scrape["blkscope_reads_completed_total{device=\"nbd0\"}"], "7");
        EXPECT_EQ(scrape["blkscope_writes_completed_total{device=\"nbd0\"}"], "3");
        EXPECT_EQ(scrape["blkscope_written_bytes_total{device=\"nbd0\"}"], "1536");
        EXPECT_EQ(scrape["blkscope_wait_length_seconds_total{device=\"nbd0\"}"],
                  seconds(io.wlentime));
        EXPECT_EQ(scrape["blkscope_run_length_seconds_total{device=\"nbd0\"}"],
                  seconds(io.rlentime));
        EXPECT_EQ(scrape["blkscope_run_busy_seconds_total{device=\"nbd0\"}"], seconds(io.rtime));
        EXPECT_EQ(scrape["blkscope_queue_depth{device=\"nbd0\"}"], "5");
        EXPECT_EQ(scrape["blkscope_requests_total{device=\"nbd0\",op=\"flush\"}"], "1");
        EXPECT_EQ(
            scrape["blkscope_io_latency_seconds_count{device=\"nbd0\",op=\"read\",phase=\"wait\"}"],
            "7");
        EXPECT_EQ(
            scrape
                ["blkscope_io_latency_seconds_count{device=\"nbd0\",op=\"flush\",phase=\"total\"}"],
            "1");
    }
}

TEST_F(Web, TheJsonIsThatOfIostatAndKstat) {
    serve("memory:1M");
    start_web();
    do_requests();
    using nlohmann::json;
    json iostat;
    // The client may have the answer to the flush, its last request, before the server has counted it.
    ASSERT_TRUE(eventually([&] {
        iostat = json::parse(succeed({IOSTAT_BINARY, "-jw", "nbd0"}));
        return !iostat.at("devices").at(0).at("histograms").at("flush_reply").is_null();
    }));
    const json devices = json::parse(body_of("/api/v1/devices"));
    EXPECT_EQ(devices.at("schema"), "blockdev.iostat/1");
    const auto& all = devices.at("devices");
    const auto nbd0 =
        std::ranges::find_if(all, [](const json& one) { return one.at("device") == "nbd0"; });
    ASSERT_NE(nbd0, all.end());
    EXPECT_EQ(nbd0->at("counters"), iostat.at("devices").at(0).at("counters"));
    EXPECT_EQ(nbd0->at("histograms"), iostat.at("devices").at(0).at("histograms"));
    const json kstats = json::parse(body_of("/api/v1/kstat?match=nbd:0:nbd0:reads"));
    ASSERT_EQ(kstats.size(), 1u);
    EXPECT_EQ(kstats.at(0).at("name"), "nbd0");
    const Scrape values(body_of("/metrics?kstat=nbd:0:nbd0%2Ccmds"));
    EXPECT_EQ(values["kstat_value{module=\"nbd\",instance=\"0\",name=\"nbd0,cmds\",class=\"misc\","
                     "statistic=\"read_requests\"}"],
              "7");
    const std::string events = ask("/api/v1/stream");
    const size_t data = events.find("data: ");
    ASSERT_NE(data, std::string::npos) << events;
    EXPECT_EQ(json::parse(events.substr(data + 6)).at("schema"), "blockdev.iostat/1");
}

std::string first_line_of(const std::string& file) {
    std::string line;
    std::ifstream in(file);
    std::getline(in, line);
    return line;
}

TEST_F(Web, AFileThatIsNoSocketStays) {
    const std::string notes = path("notes");
    std::ofstream(notes) << "kept";
    EXPECT_EQ(refused({"web", "--listen", "unix:" + notes}, 1),
              "blkscope: web: cannot listen on unix:" + notes +
                  ": File exists; choose another path, "
                  "or move away what is there\n");
    EXPECT_EQ(first_line_of(notes), "kept");
}

TEST_F(Web, ADeadSocketIsReplacedAndTheFileOfAnotherStays) {
    start_web();
    web_->signal(SIGKILL);
    EXPECT_EQ(web_->wait(), 128 + SIGKILL);
    start_web();
    std::filesystem::remove(path("web.sock"));
    std::ofstream(path("web.sock")) << "another's";
    web_->signal(SIGTERM);
    EXPECT_EQ(web_->wait(), 0);
    EXPECT_EQ(first_line_of(path("web.sock")), "another's");
}

TEST_F(Web, AScrapeTellsTheErrnosOfFailures) {
    serve("memory:1M", {"--fault", "read:error=EIO"});
    start_web();
    Client client(uri());
    EXPECT_EQ(client.try_read(0, 4096), EIO);
    EXPECT_EQ(client.try_write(0, 4096), 0);
    const Scrape scrape(body_of("/metrics"));
    EXPECT_EQ(scrape["blkscope_errors_by_errno_total{device=\"nbd0\",op=\"read\",errno=\"EIO\"}"],
              "1");
    EXPECT_EQ(scrape.count("blkscope_errors_by_errno_total"), 1u);
}

TEST_F(Web, AScrapeTellsWhichProvidersAnswer) {
    serve("memory:1M");
    start_web();
    const std::string series =
        "blkscope_provider_up{pid=\"" + std::to_string(server_->pid()) + "\"}";
    EXPECT_EQ(Scrape(body_of("/metrics"))[series], "1");
    ASSERT_EQ(kill(server_->pid(), SIGSTOP), 0);
    const Scrape stopped(body_of("/metrics"));
    EXPECT_EQ(stopped[series], "0");
    EXPECT_EQ(stopped.count("blkscope_reads_completed_total"), 0u);
    ASSERT_EQ(kill(server_->pid(), SIGCONT), 0);
    EXPECT_TRUE(eventually([&] { return Scrape(body_of("/metrics"))[series] == "1"; }));
}

// Providers of one run directory share no name. A link makes a reader see those of two.
TEST_F(Web, TwoServersMayHaveADeviceOfOneName) {
    serve("memory:1M", {"--queue-depth", "5"});
    std::filesystem::create_directory(path("second"));
    setenv("KSTAT_DIR", path("second").c_str(), 1);
    const auto other =
        serve_beside("memory:1M", "other", {"--queue-depth", "6", "--fault", "write:error=ENOSPC"});
    setenv("KSTAT_DIR", path("").c_str(), 1);
    const auto link_other = [&] {
        const std::string socket = std::to_string(other->pid()) + ".sock";
        std::filesystem::create_hard_link(path("second/" + socket), path(socket));
    };
    start_web();
    do_requests();
    EXPECT_EQ(Scrape(body_of("/metrics"))["blkscope_queue_depth{device=\"nbd0\"}"], "5");
    succeed({BLKSCOPE_BINARY, "check", "--save", path("before.json")});
    link_other();
    Client client(uri_at("other"));
    EXPECT_EQ(client.try_read(0, 4096), 0);
    EXPECT_EQ(client.try_write(0, 4096), ENOSPC);

    const std::array names{"nbd0@" + std::to_string(server_->pid()),
                           "nbd0@" + std::to_string(other->pid())};
    Scrape scrape(body_of("/metrics"));
    const auto value = [&](const std::string& family, const std::string& device,
                           const std::string& labels = "") {
        return scrape["blkscope_" + family + "{device=\"" + device + "\"" + labels + "}"];
    };
    const std::string reads = ",op=\"read\",phase=\"total\"";
    // A provider that is late is left out of a scrape.
    EXPECT_TRUE(eventually([&] {
        scrape = Scrape(body_of("/metrics"));
        return value("io_latency_seconds_count", names[0], reads) == "7" &&
               value("queue_depth", names[1]) != "none";
    }));
    EXPECT_EQ(value("queue_depth", names[0]), "5");
    EXPECT_EQ(value("queue_depth", names[1]), "6");
    EXPECT_EQ(value("reads_completed_total", names[0]), "7");
    EXPECT_EQ(value("reads_completed_total", names[1]), "1");
    EXPECT_EQ(value("errors_total", names[0], ",op=\"write\""), "0");
    EXPECT_EQ(value("errors_total", names[1], ",op=\"write\""), "1");
    // libkstat2 has the histograms of one of the two.
    EXPECT_EQ(value("io_latency_seconds_count", names[0], reads), "7");
    EXPECT_EQ(value("io_latency_seconds_count", names[1], reads), "none");

    using nlohmann::json;
    const json overview = json::parse(body_of("/api/v1/overview?device=" + names[1])).at("devices");
    ASSERT_EQ(overview.size(), 1u);
    EXPECT_EQ(overview.at(0).at("device"), names[1]);
    EXPECT_EQ(overview.at(0).at("faults").at(0).at("hits"), 1);
    EXPECT_EQ(overview.at(0).at("clients").size(), 2u) << overview;
    const json both = json::parse(body_of("/api/v1/overview?device=nbd0")).at("devices");
    EXPECT_EQ(both.size(), 2u) << both;
    const std::string iostat = succeed({IOSTAT_BINARY, "-xn"});
    for (const std::string& name : names) EXPECT_NE(iostat.find(name), iostat.npos) << iostat;

    // The second one is new to the condition, so there was nothing to measure.
    const CommandResult check = run({BLKSCOPE_BINARY, "check", "--since", path("before.json"),
                                     "errors(" + names[0] + ") == 0", "errors(nbd0) == 0"});
    EXPECT_EQ(check.status, 4) << check.output;
    succeed({BLKSCOPE_BINARY, "report", "--for", "50ms", "-o", path("run.json"), "--fail-unless",
             "errors(nbd0) == 0"});
    std::ifstream file(path("run.json"));
    const json report = json::parse(file);
    for (const std::string& name : names) {
        EXPECT_NE(report.at("total").dump().find('"' + name + '"'), std::string::npos) << name;
        EXPECT_NE(report.at("overview").dump().find('"' + name + '"'), std::string::npos) << name;
    }
}

TEST_F(Web, ThePageAndItsScriptsAreInTheProgram) {
    serve("memory:1M");
    start_web();
    const std::string page = body_of("/");
    EXPECT_TRUE(page.starts_with("<!doctype html>"));
    for (const std::string file :
         {"style.css", "model.js", "words.js", "charts.js", "panels.js", "page.js", "icon.svg"}) {
        EXPECT_NE(page.find("\"" + file + "\""), std::string::npos) << file;
        EXPECT_FALSE(body_of("/" + file).empty()) << file;
    }
    const std::string reply = ask("/");
    const size_t tag = reply.find("ETag: ");
    ASSERT_NE(tag, std::string::npos);
    const std::string value = reply.substr(tag + 6, reply.find("\r\n", tag) - tag - 6);
    const std::string again = ask("/", "Host: localhost\r\nIf-None-Match: " + value + "\r\n");
    EXPECT_TRUE(again.starts_with("HTTP/1.1 304 ")) << again;
    EXPECT_TRUE(again.ends_with("\r\n\r\n")) << again;
    EXPECT_TRUE(ask("/report.html").starts_with("HTTP/1.1 404 "));
}

TEST_F(Web, TheOverviewHasWhatIostatDoesNotPrint) {
    serve("memory:1M", {"--queue-depth", "5", "--model", "read=const:1us", "--limit", "iops=500",
                        "--fault", "write:error=ENOSPC"});
    start_web();
    Client client(uri());
    EXPECT_EQ(client.try_write(0, 512), ENOSPC);
    using nlohmann::json;
    const json overview = json::parse(body_of("/api/v1/overview?device=nbd0"));
    EXPECT_EQ(overview.at("providers"), json::array({{{"pid", server_->pid()}, {"up", true}}}));
    EXPECT_EQ(overview.at("directories").size(), 1u);
    const json& device = overview.at("devices").at(0);
    EXPECT_EQ(device.at("queue_depth"), 5);
    EXPECT_EQ(device.at("connections"), 1);
    EXPECT_EQ(device.at("model").at("spec"), "read=const:1us");
    EXPECT_EQ(device.at("limits").at(0).at("name"), "iops");
    EXPECT_EQ(device.at("faults").at(0).at("hits"), 1);
    EXPECT_EQ(device.at("errors").at(0),
              json({{"op", "write"}, {"errno", "ENOSPC"}, {"count", 1}}));
    EXPECT_NE(device.at("clients").dump().find("\"client\":\"client-1\""), std::string::npos);
    EXPECT_TRUE(json::parse(body_of("/api/v1/overview?device=x")).at("devices").empty());
}

TEST_F(Web, AScrapeAndTheOverviewTellOfAnUpstream) {
    const auto upstream = serve_beside("a=memory:1M", "up.sock");
    serve(uri_at("up.sock", "a"), {"--upstream-timeout", "1"});
    start_web();
    Client client(uri());
    ASSERT_EQ(client.try_read(0, 512), 0);
    const std::string device = "{device=\"nbd1\"";
    const std::string connected = "blkscope_upstream_state" + device + ",state=\"connected\"}";
    EXPECT_EQ(Scrape(body_of("/metrics"))[connected], "1");
    upstream->signal(SIGKILL);
    upstream->wait();
    EXPECT_EQ(client.try_read(0, 512), EIO);
    const Scrape scrape(body_of("/metrics"));
    EXPECT_EQ(scrape[connected], "0");
    EXPECT_EQ(scrape["blkscope_upstream_reconnects_total" + device + "}"], "0");
    const auto overview = nlohmann::json::parse(body_of("/api/v1/overview"));
    EXPECT_EQ(overview.at("devices").at(0).at("upstream").at("state"), "waiting");
}

// Two libraries look for providers, each of which waits a second for silent ones.
TEST_F(Web, AScrapeWaitsForSilentProvidersOnce) {
    serve("memory:1M");
    start_web();
    const std::string folder = getenv("KSTAT_DIR");
    std::list<Descriptor> silent;
    const auto seconds_beside_new_ones = [&] {
        for (int i = 0; i < 3; ++i) {
            sockaddr_un address{};
            address.sun_family = AF_UNIX;
            const size_t pid = 5'000'000 + silent.size();  // of no process
            (folder + "/" + std::to_string(pid) + ".sock")
                .copy(address.sun_path, sizeof address.sun_path - 1);
            const Descriptor& socket =
                silent.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
            const auto* const at = reinterpret_cast<const sockaddr*>(&address);
            EXPECT_EQ(::bind(socket.get(), at, sizeof address), 0);
            EXPECT_EQ(::listen(socket.get(), 8), 0);
        }
        const auto begun = std::chrono::steady_clock::now();
        EXPECT_NE(body_of("/metrics").find("blkscope_reads_completed_total"), std::string::npos);
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    };
    // The machine may be busy, at times for a second.
    double least = seconds_beside_new_ones();
    for (int i = 0; i < 5 && least >= 1.8; ++i) least = std::min(least, seconds_beside_new_ones());
    EXPECT_GE(least, 0.9) << "a silent provider gets its time";
    EXPECT_LT(least, 1.8);
}

TEST_F(Web, AForeignOrMalformedRequestIsRefused) {
    serve("memory:1M");
    std::ofstream(path("token")) << "0123456789abcdef\n";
    start_web({"--token-file", path("token"), "--host", "lab7"});
    const std::string token = "Authorization: Bearer 0123456789abcdef\r\n";
    const auto status = [&](const std::string& target, const std::string& fields) {
        return ask(target, fields).substr(9, 3);
    };
    EXPECT_EQ(status("/metrics", "Host: lab7\r\n" + token), "200");
    EXPECT_EQ(status("/metrics", "Host: lab7\r\n"), "401");
    EXPECT_EQ(status("/metrics", "Host: evil.example\r\n" + token), "403");
    EXPECT_EQ(status("/metrics", "Host: lab7\r\nOrigin: http://evil.example\r\n" + token), "403");
    EXPECT_EQ(status("/nothing", "Host: lab7\r\n" + token), "404");
    EXPECT_EQ(status("/api/v1/kstat?match=a:b:c:d:e", "Host: lab7\r\n" + token), "400");
    EXPECT_EQ(status("/api/v1/kstat?match=/(a*)*/", "Host: lab7\r\n" + token), "400");
}

// 127.0.0.2 stands for an address of the machine that other machines use.
TEST_F(Web, EachAddressOfTheMachineIsAnswered) {
    NEEDS("curl");
    serve("memory:1M");
    web_ = std::make_unique<Process>(
        std::vector<std::string>{BLKSCOPE_BINARY, "web", "--public", "--listen", "0.0.0.0:0"},
        path("web.out"), path("web.err"));
    ASSERT_TRUE(eventually([&] { return web_->output().ends_with("/\n"); }));
    const std::string output = web_->output();
    const size_t colon = output.rfind(':');
    const std::string port = output.substr(colon + 1, output.size() - colon - 3);
    const auto status = [&](const std::vector<std::string>& more) {
        std::vector<std::string> command{"curl", "-s", "-o", path("body"), "-w", "%{http_code}"};
        command.insert(command.end(), more.begin(), more.end());
        return run(command).output;
    };
    const std::string far = "http://127.0.0.2:" + port + "/metrics";
    EXPECT_EQ(status({far}), "200");
    EXPECT_EQ(status({"-0", far}), "200");
    EXPECT_EQ(status({"-0", "-H", "Host:", far}), "200");
    EXPECT_EQ(status({"-H", "Host: [fd00::1]:" + port, far}), "200");
    EXPECT_EQ(status({"-H", "Host: evil.example", far}), "403");
    EXPECT_EQ(status({"--resolve", "evil.example:" + port + ":127.0.0.2",
                      "http://evil.example:" + port + "/metrics"}),
              "403");
    EXPECT_EQ(succeed({"cat", path("body")}),
              "The Host evil.example is no name of this server. If it is one, start blkscope web "
              "with --host evil.example.\n");
}

TEST_F(Web, ItTellsNothingOfClientsIfAskedTo) {
    serve(make_image("secret.img", 1 << 20));
    const Client client(uri());
    start_web();
    EXPECT_NE(body_of("/metrics").find("blkscope_client_info{"), std::string::npos);
    EXPECT_NE(body_of("/api/v1/kstat").find("secret.img"), std::string::npos);
    EXPECT_NE(body_of("/api/v1/devices").find("secret.img"), std::string::npos);
    web_->signal(SIGTERM);
    EXPECT_EQ(web_->wait(), 0);
    EXPECT_FALSE(std::filesystem::exists(path("web.sock")));
    start_web({"--no-clients"});
    EXPECT_EQ(body_of("/metrics").find("blkscope_client_info"), std::string::npos);
    EXPECT_EQ(body_of("/api/v1/kstat").find("secret.img"), std::string::npos);
    EXPECT_EQ(body_of("/metrics?kstat=*").find("secret.img"), std::string::npos);
    EXPECT_EQ(body_of("/api/v1/devices").find("secret.img"), std::string::npos);
    EXPECT_EQ(ask("/api/v1/stream").find("secret.img"), std::string::npos);
}

TEST_F(Web, BeyondThisMachineItNeedsATokenOrAWord) {
    for (const std::vector<std::string>& options :
         {std::vector<std::string>{"--listen", "0.0.0.0:0"},
          {"--listen", "[::]:0"},
          {"--listen", "here:80"},
          {"--token-file", path("nothing")}}) {
        std::vector<std::string> command{BLKSCOPE_BINARY, "web"};
        command.insert(command.end(), options.begin(), options.end());
        const CommandResult result = run(command);
        EXPECT_EQ(result.status, 2) << result.output;
        EXPECT_TRUE(result.output.starts_with("blkscope: web: ")) << result.output;
    }
}

TEST_F(Web, AnEmptyPathIsNotNone) {
    for (const char* const option : {"--token-file", "--tls-certs"}) {
        EXPECT_EQ(run({BLKSCOPE_BINARY, "web", "--listen", "127.0.0.1:0", option, ""}).status, 2);
    }
}

TEST_F(Web, AScrapeGoesOnWhenAServerHasEnded) {
    serve("memory:1M");
    start_web();
    EXPECT_EQ(Scrape(body_of("/metrics")).count("blkscope_reads_completed_total"), 1u);
    stop_server();
    EXPECT_EQ(Scrape(body_of("/metrics")).count("blkscope_reads_completed_total"), 0u);
}

}  // namespace
}  // namespace blkscope::test
