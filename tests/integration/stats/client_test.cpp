#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

int stats_cxx14();
int stats_cxx17();

namespace blkscope {

namespace {

// The output of a program, which must end with success.
std::string output_of(const std::string& command) {
    FILE* const pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return "";
    std::string output;
    char part[4096];
    while (const size_t size = std::fread(part, 1, sizeof part, pipe)) output.append(part, size);
    const int status = pclose(pipe);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command << ": " << status;
    return output;
}

TEST(StatsClient, AProgramWrittenForFreeBsdCompilesAndCounts) {
    const auto client = nlohmann::json::parse(output_of(C_CLIENT));
    const auto& vois = client.at("vois");
    EXPECT_EQ(client.at("tplname"), "client");
    EXPECT_EQ(vois.at("bytes").at("stats").at("SUM").at("val"), 465);
    const auto& rtt = vois.at("rtt").at("stats");
    EXPECT_EQ(rtt.at("MAX").at("val"), 30);
    EXPECT_EQ(rtt.at("MIN").at("val"), 1);
    EXPECT_EQ(rtt.at("HIST").at("oob"), 27);
    EXPECT_EQ(rtt.at("TDGST").at("smplcnt"), 30);
    const auto& window = vois.at("window").at("stats").at("HIST").at("bkts");
    ASSERT_EQ(window.size(), 4u);
    EXPECT_EQ(window[0].at("lb"), INT64_MIN);
    EXPECT_EQ(window[0].at("cnt"), 1);
    EXPECT_EQ(window[3].at("ub"), INT64_MAX);
    EXPECT_EQ(vois.at("ranges").at("stats").at("HIST").at("oob"), 1);
    EXPECT_EQ(vois.at("exp").at("stats").at("HIST").at("nbkts"), 5);
}

TEST(StatsClient, OlderCxxSeesTheHeadersToo) {
    EXPECT_EQ(stats_cxx14(), 0);
    EXPECT_EQ(stats_cxx17(), 0);
}

TEST(StatsClient, TheExampleMeasuresAFunction) {
    const auto measured = nlohmann::json::parse(output_of(EXAMPLE " -j 50")).at("vois");
    const auto& time = measured.at("nanoseconds").at("stats");
    EXPECT_EQ(time.at("TDGST").at("smplcnt"), 50);
    EXPECT_LE(time.at("MIN").at("val"), time.at("MAX").at("val"));
    EXPECT_LE(measured.at("elements").at("stats").at("MAX").at("val"), 10'000);
    EXPECT_NE(output_of(EXAMPLE " 50").find("\nmedian "), std::string::npos);
}

std::set<std::string> shown_by(const std::string& library) {
    FILE* const nm = popen((NM " -D --defined-only " + library).c_str(), "r");
    std::set<std::string> names;
    char kind;
    char name[256];
    while (nm != nullptr && std::fscanf(nm, "%*s %c %255s", &kind, name) == 2) {
        if (kind == 'A') continue;  // the version's own name
        const std::string versioned = name;
        names.insert(versioned.substr(0, versioned.find('@')));
    }
    if (nm != nullptr) pclose(nm);
    return names;
}

std::set<std::string> listed_in(const std::string& map) {
    std::ifstream file(std::string(STATS_FOLDER "/") + map);
    std::set<std::string> names;
    std::string word;
    while (file >> word)
        if (word.size() > 1 && word.back() == ';' && word != "*;" && word.rfind("STATS", 0) != 0 &&
            word != "};")
            names.insert(word.substr(0, word.size() - 1));
    return names;
}

TEST(StatsExports, AreExactlyWhatTheHeadersDeclare) {
    EXPECT_EQ(shown_by(LIBSTATS), listed_in("libstats.map"));
    EXPECT_EQ(shown_by(LIBSBUF), listed_in("libsbuf.map"));
    EXPECT_EQ(shown_by(LIBSTATS).count("stats_v1_voi_update"), 1u);
    EXPECT_EQ(shown_by(LIBSBUF).count("sbuf_printf"), 1u);
}

}  // namespace

}  // namespace blkscope
