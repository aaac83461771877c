// Exports that no client uses: a server of many of them is small.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "served_device.hpp"

namespace blkscope::test {
namespace {

class IdleExports : public ServedDevice {
  protected:
    /// The anonymous memory of a server of so many exports, which it has announced.
    uint64_t anonymous_kib_of(int exports) {
        std::vector<std::string> arguments{"--unix", socket_, "--workers", "1"};
        for (int i = 0; i < exports; ++i) {
            arguments.push_back("e" + std::to_string(i) + "=memory:1M");
        }
        serve_with(arguments);
        const uint64_t kib = memory_kib(server_->pid(), "RssAnon:");
        EXPECT_EQ(stop_server(), 0);
        return kib;
    }
};

// 64 MiB for a thousand exports, with room for a worker and the rest of the server.
TEST_F(IdleExports, TakeLessThan56KiBEach) {
    if (BLKSCOPE_SANITIZED) GTEST_SKIP() << "SKIPPED: the sanitizer has a heap of its own";
    constexpr int many = 201;
    const uint64_t few_kib = anonymous_kib_of(1);
    const uint64_t many_kib = anonymous_kib_of(many);
    EXPECT_LT((many_kib - few_kib) / (many - 1), 56u) << few_kib << " and " << many_kib;
    EXPECT_LT(few_kib, 3 * 1024u);
}

}  // namespace
}  // namespace blkscope::test
