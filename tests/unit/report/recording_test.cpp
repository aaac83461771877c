#include "tools/report/recording.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "iostat/devices.hpp"

namespace blkscope::report {
namespace {

using iostat::one_second;
using Names = std::vector<std::string>;

constexpr std::chrono::milliseconds every_second{1000};

web::DeviceLook look_at(const std::string& name, int provider, kid_t kid) {
    web::DeviceLook look{.device = iostat::busy_device(name)};
    look.device.provider = provider;
    look.device.kid = kid;
    const bool is_client = name.find(',') != std::string::npos;
    if (is_client) look.device.kind = iostat::Kind::client;
    return look;
}

web::DeviceLook second_later(web::DeviceLook look, const std::string& name) {
    look.device = iostat::one_second_later(look.device);
    look.device.name = name;
    return look;
}

Names names_of(const std::vector<web::DeviceLook>& looks) {
    Names names;
    for (const web::DeviceLook& one : looks) names.push_back(one.device.name);
    return names;
}

TEST(ReportRecording, ADiskKeepsItsNameWhenAnotherProviderComes) {
    Recording recording(every_second);
    const web::DeviceLook disk = look_at("nbd0", 100, 1);
    recording.add({.time = disk.device.snaptime, .devices = {disk}});
    recording.add(
        {.time = disk.device.snaptime + one_second,
         .devices = {second_later(disk, "nbd0@100"), look_at("nbd0@200", 200, 2),
                     look_at("nbd0@100,client-1", 100, 3), look_at("nbd0@200,client-1", 200, 4)}});
    EXPECT_EQ(names_of(recording.devices_at_end()),
              (Names{"nbd0", "nbd0@200", "nbd0,client-1", "nbd0@200,client-1"}));
    EXPECT_TRUE(recording.left.empty());
    const std::vector<iostat::DeviceSummary> summaries = recording.summary.devices();
    ASSERT_EQ(summaries.size(), 1u);
    EXPECT_EQ(summaries[0].name, "nbd0");
    EXPECT_EQ(summaries[0].elapsed_s, 1);
    EXPECT_EQ(summaries[0].columns[0].average, 150);  // transfers a second, of this second only
}

TEST(ReportRecording, ADiskKeepsItsNameWhenAnotherProviderEnds) {
    Recording recording(every_second);
    const web::DeviceLook disk = look_at("nbd0@100", 100, 1);
    recording.add({.time = disk.device.snaptime, .devices = {disk, look_at("nbd0@200", 200, 2)}});
    recording.add({.time = disk.device.snaptime + one_second,
                   .devices = {second_later(disk, "nbd0"), look_at("nbd0,client-1", 100, 3)}});
    EXPECT_EQ(names_of(recording.devices_at_end()),
              (Names{"nbd0@100", "nbd0@100,client-1", "nbd0@200"}));
    EXPECT_EQ(recording.left.count("nbd0@100"), 0u);
}

TEST(ReportRecording, ADeviceThatIsMadeAnewKeepsItsFirstLife) {
    Recording recording(every_second);
    const web::DeviceLook disk = look_at("nbd0", 100, 1);
    web::DeviceLook again = second_later(disk, "nbd0");
    recording.add({.time = 1, .devices = {}});
    for (const bool is_there : {true, false, true}) {
        recording.add({.time = 2, .devices = {}});
        if (is_there) recording.add({.time = 3, .devices = {disk}});
    }
    EXPECT_TRUE(recording.ended.empty());  // its provider did not answer for a while
    again.device.crtime += 1;
    recording.add({.time = 4, .devices = {again}});
    recording.add({.time = 5, .devices = {}});
    again.device.crtime += 1;
    recording.add({.time = 6, .devices = {again}});
    ASSERT_EQ(recording.ended.count("nbd0"), 1u);
    EXPECT_EQ(recording.ended.at("nbd0").device.crtime, disk.device.crtime);
    EXPECT_TRUE(recording.left.empty());
}

// A disk of this machine has no provider.
TEST(ReportRecording, AHostsDiskKeepsAnyName) {
    Recording recording(every_second);
    web::DeviceLook disk = look_at("sd0@0", 0, 1);
    disk.is_of_host = true;
    web::DeviceLook other = look_at("sd0", 0, 2);
    other.is_of_host = true;
    recording.add({.time = disk.device.snaptime, .devices = {disk, other}});
    EXPECT_EQ(names_of(recording.last.devices), (Names{"sd0@0", "sd0"}));
}

}  // namespace
}  // namespace blkscope::report
