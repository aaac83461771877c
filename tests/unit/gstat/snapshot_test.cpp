#include "tools/gstat/snapshot.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace blkscope::gstat {
namespace {

TEST(GstatSnapshot, PartitionsStandBehindTheirDevice) {
    std::vector<Device> devices{{0, "nbd0", false, {}},  {1, "nbd1", false, {}},
                                {2, "nbd10", false, {}}, {3, "nbd1,1", true, {}},
                                {4, "nbd0,2", true, {}}, {5, "0xabc", true, {}},
                                {6, "nbd1,2", true, {}}};
    put_partitions_in_place(devices);
    std::vector<std::string> names;
    for (const Device& device : devices) names.push_back(device.name);
    EXPECT_EQ(names, (std::vector<std::string>{"nbd0", "nbd0,2", "nbd1", "nbd1,1", "nbd1,2",
                                               "nbd10", "0xabc"}));
}

}  // namespace
}  // namespace blkscope::gstat
