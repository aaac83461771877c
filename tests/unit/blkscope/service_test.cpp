// A service whose configuration changes, on an executor that makes one call at a time.
#include "tools/blkscope/service.hpp"

#include <gtest/gtest.h>

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "../driver/fake_executor.hpp"
#include "../temporary_folder.hpp"

namespace blkscope {
namespace {

class ServiceTest : public ::testing::Test {
  protected:
    void SetUp() override { service_.server().start(); }

    static ServiceConfig config_of(size_t exports) {
        ServiceConfig config;
        config.workers = 1;
        for (size_t i = 0; i < exports; ++i) {
            ExportConfig exp;
            exp.name = std::to_string(i);
            exp.backing = "memory:1M";
            config.exports.push_back(std::move(exp));
        }
        return config;
    }

    // Begins a change to so many exports.
    void change_to(size_t exports) {
        const ServiceConfig config = config_of(exports);
        OpenedBackings opened;
        for (const ExportConfig& exp : service_.openings(config)) {
            auto backing = open_backing_of(exp);
            TableLook look = look_at_table(*backing);
            opened.emplace(exp.name, OpenedBacking{std::move(backing), std::move(look)});
        }
        service_.change(config, std::move(opened),
                        [this](const ServiceChange& change, const std::exception_ptr& failure) {
                            EXPECT_FALSE(failure);
                            changed_ = change;
                        });
    }

    const test::RunFolder folder_;
    nbd::FakeExecutor executor_;
    Service service_{executor_, config_of(1), {.client = -1}};  // which listens nowhere
    std::optional<ServiceChange> changed_;
};

// Handshakes, readers of kstats and signals come between two calls.
TEST_F(ServiceTest, AChangeMakesOneExportACall) {
    constexpr size_t exports = 100;
    change_to(1 + exports);
    size_t calls = 0;
    for (; !changed_; ++calls) ASSERT_TRUE(executor_.step());
    EXPECT_GE(calls, exports);
    EXPECT_EQ(changed_->added.size(), exports);
    EXPECT_EQ(service_.server().exports(), 1 + exports);
    change_to(1);
    while (!changed_->added.empty()) ASSERT_TRUE(executor_.step());
    EXPECT_EQ(changed_->removed.size(), exports);
    EXPECT_EQ(service_.server().exports(), 1u);
}

TEST_F(ServiceTest, ExportsOfAChangeAreOfferedAllAtOnce) {
    change_to(4);
    while (!changed_) {
        ASSERT_TRUE(executor_.step());
        const size_t offered = service_.server().exports();
        EXPECT_TRUE(offered == 1 || offered == 4) << offered;
    }
    EXPECT_EQ(service_.server().exports(), 4u);
}

// As at SIGTERM.
TEST_F(ServiceTest, AChangeThatIsDroppedLeavesNothing) {
    change_to(10);
    for (int call = 0; call < 5; ++call) ASSERT_TRUE(executor_.step());
    service_.drop_change();
    executor_.run();
    EXPECT_FALSE(changed_);
    EXPECT_EQ(service_.server().exports(), 1u);
    EXPECT_TRUE(service_.server().stop());
}

}  // namespace
}  // namespace blkscope
