// The reader over a libkstat that is defined here. Each test sets up its chain.

#include "tools/iostat/reader.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <list>
#include <span>
#include <system_error>
#include <utility>

#include "devices.hpp"

namespace {

// The published kstats, and the behaviour of the library.
struct Published {
    std::list<kstat_t> chain;  // a list, because a kstat must stay at its address
    std::list<kstat_io_t> data;
    std::list<std::vector<kstat_named_t>> records;
    int open_error = 0;
    int update_error = 0;
    int opens = 0;
    int closes = 0;
    std::string unreadable;  // the name of a kstat whose provider is closed
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
    if (ksp->ks_type == KSTAT_TYPE_IO && ksp->ks_data != nullptr) {
        static_cast<kstat_io_t*>(ksp->ks_data)->reads += 1;
    }
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

void* kstat_data_lookup(kstat_t* ksp, const char* name) {
    for (kstat_named_t& named : std::span(KSTAT_NAMED_PTR(ksp), ksp->ks_ndata)) {
        if (std::strcmp(named.name, name) == 0) return &named;
    }
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
    kstat_t& nbd3 = publish("nbd", "nbd3", "disk");
    nbd3.ks_instance = 3;
    nbd3.ks_kid = 42;
    Reader reader({});
    (void)reader.read();
    const std::vector<Device> devices = reader.read();
    ASSERT_EQ(devices.size(), 1u);
    EXPECT_EQ(devices[0].module, "nbd");
    EXPECT_EQ(devices[0].instance, 3);
    EXPECT_EQ(devices[0].name, "nbd3");
    EXPECT_EQ(devices[0].kid, 42);
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

TEST_F(IostatReader, DevicesOfOneNameHaveTheirProvidersNumbers) {
    kid_t kid = 0;
    for (const auto& [name, provider] :
         {std::pair{"nbd0", 12}, {"nbd0", 34}, {"nbd1", 34}, {"nbd0,client-9", 34}}) {
        kstat_t& ks = publish("nbd", name, kid < 3 ? "disk" : "client");
        ks.ks_kid = ++kid;
        ks.ks_private = reinterpret_cast<void*>(intptr_t{provider});
    }
    Options options;
    options.clients = true;
    Reader reader(options);
    const auto devices = reader.read();
    ASSERT_EQ(devices.size(), 4U);
    EXPECT_EQ(unique_name(devices[0]), "nbd0@12");
    EXPECT_EQ(unique_name(devices[1]), "nbd0@34");
    EXPECT_EQ(unique_name(devices[2]), "nbd1");
    EXPECT_EQ(unique_name(devices[3]), "nbd0@34,client-9");
    EXPECT_EQ(without_provider(unique_name(devices[3])), "nbd0,client-9");
    for (const char* name : {"nbd0", "", "a@", "a@b", "a@12b", "nbd0,x@12", "@"}) {
        EXPECT_EQ(without_provider(name), name);
    }
}

TEST_F(IostatReader, WithoutARunDirectoryItTriesAgain) {
    publish("nbd", "nbd0", "disk");
    published.open_error = ENOENT;
    Reader reader({});
    EXPECT_EQ(names_of(reader.read()), Names{});
    EXPECT_FALSE(reader.any_device());
    published.open_error = 0;
    EXPECT_EQ(names_of(reader.read()), Names{"nbd0"});
    EXPECT_TRUE(reader.any_device());
}

TEST_F(IostatReader, WithoutDescriptorsItReadsWhatThereIsAndSaysSo) {
    publish("nbd", "nbd0", "disk");
    published.update_error = ENFILE;
    Reader reader({});
    EXPECT_EQ(names_of(reader.read()), Names{"nbd0"});
    EXPECT_TRUE(reader.is_partial());
    published.update_error = 0;
    EXPECT_EQ(names_of(reader.read()), Names{"nbd0"});
    EXPECT_FALSE(reader.is_partial());
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

TEST_F(IostatReader, OnlyIoKstatsOfDeviceClassesAreDevices) {
    publish("unix", "kstat_headers", "kstat", KSTAT_TYPE_RAW);
    publish("nbd", "nbd0,cmds", "misc", KSTAT_TYPE_NAMED);
    publish("cpu", "sys", "misc", KSTAT_TYPE_NAMED);
    Reader reader({});
    (void)reader.read();
    EXPECT_FALSE(reader.any_device());
    publish("nbd", "nbd0,a", "partition");
    (void)reader.read();
    EXPECT_TRUE(reader.any_device());  // although the options exclude it
}

kstat_named_t record(const char* name, uint64_t value) {
    kstat_named_t named{};
    std::strncpy(named.name, name, sizeof(named.name) - 1);
    named.data_type = KSTAT_DATA_UINT64;
    named.value.ui64 = value;
    return named;
}

kstat_named_t record(const char* name, const char* value) {
    kstat_named_t named{};
    std::strncpy(named.name, name, sizeof(named.name) - 1);
    named.data_type = KSTAT_DATA_CHAR;
    std::strncpy(named.value.c, value, sizeof(named.value.c) - 1);
    return named;
}

kstat_t& publish_records(const char* module, int instance, const std::string& name,
                         const char* kstat_class, std::vector<kstat_named_t> records) {
    kstat_t& ks = publish(module, name, kstat_class, KSTAT_TYPE_NAMED);
    ks.ks_instance = instance;
    published.records.push_back(std::move(records));
    std::vector<kstat_named_t>& kept = published.records.back();
    ks.ks_data = kept.data();
    ks.ks_ndata = static_cast<uint_t>(kept.size());
    ks.ks_data_size = kept.size() * sizeof(kstat_named_t);
    return ks;
}

void publish_processor(int id, const char* state) {
    const auto base = static_cast<uint64_t>(id) * 100;
    publish_records("cpu", id, "sys", "misc",
                    {record("cpu_ticks_idle", base + 1), record("cpu_ticks_user", base + 2),
                     record("cpu_ticks_kernel", base + 3), record("cpu_ticks_wait", base + 4),
                     record("cpu_nsec_dtrace", base + 5), record("rawch", base + 6),
                     record("outch", base + 7)});
    if (state == nullptr) return;
    const auto number = std::to_string(id);
    publish_records("cpu_info", id, "cpu_info" + number, "misc", {record("state", state)});
}

TEST_F(IostatReader, ReadsTheProcessorsThatAreOnLineInTheirOrder) {
    publish_processor(2, "on-line");
    publish_processor(1, "off-line");
    publish_processor(0, "no-intr");
    publish_processor(3, nullptr);
    Reader reader({});
    (void)reader.read();
    const Processors processors = reader.read_processors();
    ASSERT_EQ(processors.size(), 3u);
    EXPECT_EQ(processors[0].id, 0);
    EXPECT_EQ(processors[1].id, 2);
    EXPECT_EQ(processors[2].id, 3);
    EXPECT_EQ(processors[1].idle_ticks, 201u);
    EXPECT_EQ(processors[1].user_ticks, 202u);
    EXPECT_EQ(processors[1].kernel_ticks, 203u);
    EXPECT_EQ(processors[1].wait_ticks, 204u);
    EXPECT_EQ(processors[1].dtrace_ns, 205u);
    EXPECT_EQ(processors[1].characters_in, 206u);
    EXPECT_EQ(processors[1].characters_out, 207u);
    EXPECT_EQ(processors[1].snaptime, 7);
}

TEST_F(IostatReader, WithoutProcessorsThereAreNone) {
    Reader unopened({});
    EXPECT_TRUE(unopened.read_processors().empty());
    publish("nbd", "nbd0", "disk");
    publish("cpu", "vm", "misc", KSTAT_TYPE_NAMED);
    publish("cpu", "sys", "misc", KSTAT_TYPE_RAW);
    publish("cpu", "sys", "misc", KSTAT_TYPE_NAMED).ks_ndata = 1000;  // more than its data holds
    Reader reader({});
    (void)reader.read();
    EXPECT_TRUE(reader.read_processors().empty());
}

TEST_F(IostatReader, ErrorsBelongToTheDeviceBeforeTheComma) {
    publish("nbd", "nbd0", "disk");
    publish("nbd", "nbd1", "disk");
    publish_records("nbderr", 1, "nbd1,err", "device_error",
                    {record("Soft Errors", 4), record("Hard Errors", 5)});
    publish_records("nbderr", 0, "nbd0,err", "misc", {record("Soft Errors", 9)});
    Options options;
    EXPECT_TRUE(Reader(options).read()[1].errors.empty());
    options.errors = true;
    const std::vector<Device> devices = Reader(options).read();
    EXPECT_TRUE(devices[0].errors.empty());
    ASSERT_EQ(devices[1].errors.size(), 2u);
    EXPECT_EQ(error_count(devices[1].errors, 1), 5u);
}

TEST_F(IostatReader, TheEnvironmentChoosesTheRunDirectory) {
    setenv("KSTAT_DIR", "/somewhere", 1);
    EXPECT_EQ(run_directory(), "/somewhere");
    unsetenv("KSTAT_DIR");
}

}  // namespace
}  // namespace blkscope::iostat
