// The exports of a command line: which models, limits and faults each of them has.
#include "tools/blkscope/serve_config.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "../failure.hpp"

namespace blkscope {
namespace {

ServeOptions two_exports() {
    ServeOptions options;
    options.backings = {"a=null:1M", "a@b=null:1M"};
    options.seed = 7;
    return options;
}

std::string trouble(const ServeOptions& options) {
    return failure_of([&] { return config_of(options); });
}

TEST(ServeConfig, AnOptionHoldsForAllExportsAndANamedOneForOne) {
    ServeOptions options = two_exports();
    options.models = {"all=const:1ms", "a@b@all=const:2ms"};
    options.limits = {"a@iops=5"};
    options.faults = {"read:error=EIO", "a@write:drop", "a@b@trim:hang", "flush:hang"};
    const ServiceConfig config = config_of(options);
    const BehaviourConfig& one = config.exports.at(0).behaviour;
    const BehaviourConfig& other = config.exports.at(1).behaviour;
    EXPECT_EQ(one.model->text(), "all=const:1ms");
    EXPECT_EQ(other.model->text(), "all=const:2ms");
    EXPECT_EQ(one.limits->text(), "iops=5");
    EXPECT_FALSE(other.limits);
    EXPECT_EQ(one.faults, (std::vector<std::string>{"read:error=EIO", "write:drop", "flush:hang"}));
    EXPECT_EQ(other.faults,
              (std::vector<std::string>{"read:error=EIO", "trim:hang", "flush:hang"}));
}

TEST(ServeConfig, NoneTakesAnExportOut) {
    ServeOptions options = two_exports();
    options.models = {"nvme", "a@none"};
    const ServiceConfig config = config_of(options);
    EXPECT_FALSE(config.exports.at(0).behaviour.model);
    EXPECT_TRUE(config.exports.at(1).behaviour.model);
}

TEST(ServeConfig, ACrashCacheIsForAllOrForOne) {
    ServeOptions options = two_exports();
    options.crash_caches = {"1M", "a@b@2M,ignore-flush"};
    ServiceConfig config = config_of(options);
    EXPECT_EQ(config.exports.at(0).crash_cache->text(), "1M");
    EXPECT_EQ(config.exports.at(1).crash_cache->text(), "2M,ignore-flush");
    options.crash_caches = {"1M", "a@none"};
    config = config_of(options);
    EXPECT_FALSE(config.exports.at(0).crash_cache);
    EXPECT_TRUE(config.exports.at(1).crash_cache);
    options.crash_caches = {"1M", "2M"};
    EXPECT_EQ(trouble(options), "--crash-cache 2M: given twice");
}

TEST(ServeConfig, EachExportHasASeedOfItsOwn) {
    const ServiceConfig config = config_of(two_exports());
    EXPECT_EQ(config.exports.at(0).behaviour.seed, 7u);
    EXPECT_EQ(config.exports.at(1).behaviour.seed, 8u);
    EXPECT_NE(ServeOptions().seed, ServeOptions().seed);
}

TEST(ServeConfig, AFileMayHaveAnAtSign) {
    const std::string file = testing::TempDir() + "serve@config.json";
    std::ofstream(file) << R"({"jobs": [{"read": {"clat_ns": {"bins": {"1032": 5}}}}]})";
    ServeOptions options = two_exports();
    options.models = {"read=empirical:" + file};
    EXPECT_EQ(config_of(options).exports.at(0).behaviour.model->text(), "read=empirical:" + file);
}

TEST(ServeConfig, RefusesWhatNamesNoExportOrComesTwice) {
    ServeOptions options = two_exports();
    options.models = {"c@nvme"};
    EXPECT_EQ(trouble(options), "'c@nvme': there is no export 'c'");
    options.models = {"nvme", "hdd7200"};
    EXPECT_EQ(trouble(options), "--model hdd7200: given twice");
    options.models = {"a@nvme", "a@hdd7200"};
    EXPECT_EQ(trouble(options), "--model a@hdd7200: given twice");
    options.models.clear();
    options.faults = {"c@write:drop"};
    EXPECT_EQ(trouble(options), "'c@write:drop': there is no export 'c'");
}

}  // namespace
}  // namespace blkscope
