// The reader over a libkstat of our own, whose chain each test sets up.

#include "iostat/reader.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <list>
#include <system_error>

#include "devices.hpp"

namespace {

// What is published, and how the library behaves.
struct Published {
    std::list<kstat_t> chain;  // a list: a kstat stays where it is
    std::list<kstat_io_t> data;
    int open_error = 0;
    int update_error = 0;
    int opens = 0;
    int closes = 0;
    std::string unreadable;  // the name of a kstat whose provider has gone
    kstat_ctl_t control{};
};

Published published;

void link_chain() {
    kstat_t* next = nullptr;
    for (auto it = published.chain.rbegin(); it != published.chain.rend(); ++it) {
        it->ks_next = next;
        next = &*it;
    }
    published.control.kc_chain = next;
}

kstat_t& publish(const char* module, const std::string& name, const char* kstat_class,
                 uchar_t type = KSTAT_TYPE_IO) {
    kstat_t ks{};
    std::strncpy(ks.ks_module, module, sizeof(ks.ks_module) - 1);
    std::memcpy(ks.ks_name, name.data(), std::min(name.size(), sizeof(ks.ks_name)));
    std::strncpy(ks.ks_class, kstat_class, sizeof(ks.ks_class) - 1);
    ks.ks_type = type;
    ks.ks_crtime = 5;
    ks.ks_data_size = sizeof(kstat_io_t);
    published.chain.push_back(ks);
    return published.chain.back();
}

}  // namespace

extern "C" {

kstat_ctl_t* kstat_open() {
    ++published.opens;
    errno = published.open_error;
    if (published.open_error != 0) return nullptr;
    link_chain();
    return &published.control;
}

int kstat_close(kstat_ctl_t* /*kc*/) {
    ++published.closes;
    return 0;
}

kid_t kstat_chain_update(kstat_ctl_t* /*kc*/) {
    errno = published.update_error;
    if (published.update_error != 0) return -1;
    link_chain();
    return 0;
}

kid_t kstat_read(kstat_ctl_t* /*kc*/, kstat_t* ksp, void* /*buf*/) {
    if (published.unreadable == ksp->ks_name) {
        errno = ENXIO;
        return -1;
    }
    if (ksp->ks_data == nullptr && ksp->ks_data_size > 0) {
        published.data.push_back({});
        ksp->ks_data = &published.data.back();
    }
    if (ksp->ks_data != nullptr) static_cast<kstat_io_t*>(ksp->ks_data)->reads += 1;
    ksp->ks_snaptime += 7;
    return 1;
}

kid_t kstat_write(kstat_ctl_t* /*kc*/, kstat_t* /*ksp*/, void* /*buf*/) {
    errno = EACCES;
    return -1;
}

kstat_t* kstat_lookup(kstat_ctl_t* /*kc*/, const char* /*module*/, int /*instance*/,
                      const char* /*name*/) {
    errno = ENOENT;
    return nullptr;
}

void* kstat_data_lookup(kstat_t* /*ksp*/, const char* /*name*/) {
    errno = ENOENT;
    return nullptr;
}

}  // extern "C"

namespace blkscope::iostat {
namespace {

class IostatReader : public testing::Test {
  protected:
    void SetUp() override { published = {}; }
};

using Names = std::vector<std::string>;

TEST_F(IostatReader, ReadsWhatTheKstatHolds) {
    publish("nbd", "nbd3", "disk").ks_instance = 3;
    Reader reader({});
    (void)reader.read();
    const std::vector<Device> devices = reader.read();
    ASSERT_EQ(devices.size(), 1u);
    EXPECT_EQ(devices[0].module, "nbd");
    EXPECT_EQ(devices[0].instance, 3);
    EXPECT_EQ(devices[0].name, "nbd3");
    EXPECT_EQ(devices[0].kind, Kind::disk);
    EXPECT_EQ(devices[0].crtime, 5);
    EXPECT_EQ(devices[0].snaptime, 14);
    EXPECT_EQ(devices[0].io.reads, 2u);
}

TEST_F(IostatReader, TakesIoKstatsOfDeviceClassesOnly) {
    publish("nbd", "nbd0", "disk");
    publish("nbd", "nbd0,cmds", "misc", KSTAT_TYPE_NAMED);
    publish("nbd", "raw", "disk", KSTAT_TYPE_RAW);
    publish("nbd", "misc", "misc");
    publish("nbd", "nbd0,a", "partition");
    publish("st", "st0", "tape");
    publish("nfs", "nfs1", "nfs");
    EXPECT_EQ(names_of(Reader({}).read()), (Names{"nbd0", "st0", "nfs1"}));
    Options partitions;
    partitions.partitions = true;
    partitions.disks = false;
    EXPECT_EQ(names_of(Reader(partitions).read()), (Names{"nbd0,a", "st0", "nfs1"}));
}

TEST_F(IostatReader, LeavesOutADeviceWhoseProviderHasGone) {
    publish("nbd", "nbd0", "disk");
    publish("nbd", "nbd1", "disk");
    publish("nbd", "nbd2", "disk");
    published.unreadable = "nbd1";
    EXPECT_EQ(names_of(Reader({}).read()), (Names{"nbd0", "nbd2"}));
}

TEST_F(IostatReader, LeavesOutAKstatThatIsTooSmallToHoldItsData) {
    publish("nbd", "nbd0", "disk").ks_data_size = sizeof(kstat_io_t) - 1;
    publish("nbd", "nbd1", "disk").ks_data_size = 0;
    EXPECT_EQ(names_of(Reader({}).read()), Names{});
}

TEST_F(IostatReader, ANameWithoutAnEndStopsAtItsField) {
    publish("nbd", std::string(40, 'n'), "disk");
    EXPECT_EQ(names_of(Reader({}).read()), Names{std::string(KSTAT_STRLEN, 'n')});
}

TEST_F(IostatReader, SeesDevicesThatComeAndGo) {
    publish("nbd", "nbd0", "disk");
    Reader reader({});
    (void)reader.read();
    publish("nbd", "nbd1", "disk");
    EXPECT_EQ(names_of(reader.read()), (Names{"nbd0", "nbd1"}));
    published.chain.pop_front();
    EXPECT_EQ(names_of(reader.read()), Names{"nbd1"});
}

TEST_F(IostatReader, OpensOnceAndClosesAtItsEnd) {
    {
        Reader reader({});
        (void)reader.read();
        (void)reader.read();
    }
    EXPECT_EQ(published.opens, 1);
    EXPECT_EQ(published.closes, 1);
}

TEST_F(IostatReader, WithoutARunDirectoryItTriesAgain) {
    publish("nbd", "nbd0", "disk");
    published.open_error = ENOENT;
    Reader reader({});
    EXPECT_EQ(names_of(reader.read()), Names{});
    EXPECT_FALSE(reader.anything_published());
    published.open_error = 0;
    EXPECT_EQ(names_of(reader.read()), Names{"nbd0"});
    EXPECT_TRUE(reader.anything_published());
}

TEST_F(IostatReader, OtherFailuresAreTold) {
    published.open_error = EACCES;
    EXPECT_THROW((void)Reader({}).read(), std::system_error);
    published.open_error = 0;
    Reader reader({});
    (void)reader.read();
    published.update_error = EIO;
    EXPECT_THROW((void)reader.read(), std::system_error);
}

TEST_F(IostatReader, TheFrameworksOwnKstatsAreNobodysPublication) {
    publish("unix", "kstat_headers", "kstat", KSTAT_TYPE_RAW);
    Reader reader({});
    (void)reader.read();
    EXPECT_FALSE(reader.anything_published());
    publish("nbd", "nbd0,cmds", "misc", KSTAT_TYPE_NAMED);
    (void)reader.read();
    EXPECT_TRUE(reader.anything_published());
}

TEST_F(IostatReader, TheEnvironmentChoosesTheRunDirectory) {
    setenv("KSTAT_DIR", "/somewhere", 1);
    EXPECT_EQ(run_directory(), "/somewhere");
    unsetenv("KSTAT_DIR");
}

}  // namespace
}  // namespace blkscope::iostat
