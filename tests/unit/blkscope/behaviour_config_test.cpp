// Behaviours: rules for a device of a size, FILEs, and lines for the log.
#include "tools/blkscope/behaviour_config.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "../failure.hpp"

namespace blkscope {
namespace {

constexpr uint64_t mib = uint64_t{1} << 20;

TEST(BehaviourConfig, TheSizeOfTheDeviceDecidesWhetherARuleCanMatch) {
    const BehaviourConfig config{.faults = {"read:error=EIO;sectors=2048-4095"}, .seed = 3};
    EXPECT_EQ(behaviour_of(config, 2 * mib).faults.size(), 1u);
    EXPECT_EQ(failure_of([&] { return behaviour_of(config, mib); }),
              "fault 'read:error=EIO;sectors=2048-4095': sector 2048 is behind the end of the "
              "device, so the rule can never match");
}

TEST(BehaviourConfig, DrawsASeedIfThereIsNone) {
    EXPECT_NE(behaviour_of({}, mib).seed, behaviour_of({}, mib).seed);
    EXPECT_EQ(behaviour_of({.seed = 3}, mib).seed, 3u);
}

TEST(BehaviourConfig, HasABoundOfRules) {
    BehaviourConfig config{.faults = std::vector<std::string>(faults_max, "write:drop")};
    EXPECT_EQ(behaviour_of(config, mib).faults.size(), faults_max);
    config.faults.emplace_back("write:drop");
    EXPECT_EQ(failure_of([&] { return behaviour_of(config, mib); }),
              "more than 64 faults for a device");
}

// The reads of the file for a rule about reads.
TEST(BehaviourConfig, ADelayTakesTheTimesOfItsOwnOperation) {
    const std::string file = testing::TempDir() + "behaviour_config_test.json";
    std::ofstream(file) << R"({"jobs": [{"read": {"clat_ns": {"bins": {"100": 5}}}}]})";
    EXPECT_EQ(parse_fault("read:delay=empirical:" + file, mib).delay->mean_ns(), 100.5);
    EXPECT_EQ(failure_of([&] {
                  return parse_fault("write:delay=empirical:" + file, mib);
              }).find("it has no times of 'write'") == std::string::npos,
              false);
}

TEST(BehaviourConfig, SaysInOneLineWhatHolds) {
    EXPECT_EQ(text_of(behaviour_of({.seed = 3}, mib)), "");
    EXPECT_EQ(text_of(behaviour_of({.limits = model::LimitSpec::parse("iops=5"), .seed = 3}, mib)),
              "limit iops=5");
    EXPECT_EQ(text_of(behaviour_of({.model = parse_model("all=exp:1ms"),
                                    .limits = model::LimitSpec::parse("iops=5"),
                                    .faults = {"write:drop", "read:hang=1s"},
                                    .seed = 3},
                                   mib)),
              "model all=exp:1ms, limit iops=5, fault write:drop, fault read:hang=1s, seed 3");
    EXPECT_EQ(text_of(behaviour_of({.model = parse_model("all=exp:1ms,seed=4"), .seed = 3}, mib)),
              "model all=exp:1ms,seed=4");
}

TEST(BehaviourConfig, WarnsOfWhatIsUnwise) {
    const BehaviourConfig config{.model = parse_model("all=pareto:1ms:1.5"),
                                 .faults = {"read:error=EDOM", "read:error=EIO"}};
    EXPECT_EQ(
        warnings_of(behaviour_of(config, mib)),
        (std::vector<std::string>{"pareto:1ms:1.5 has no variance: means of long runs still differ",
                                  "clients see EDOM as EIO"}));
}

}  // namespace
}  // namespace blkscope
