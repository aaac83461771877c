#include "tools/kstat/raw.hpp"

#include <blkscope/stats.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <numeric>

#include "stats/device_template/io_stats_template.hpp"
#include "tools/kstat/format.hpp"

namespace blkscope::kstat_command {
namespace {

template <class Word>
struct Raw {
    Raw(const char* module, const char* name, size_t count) : words(count) {
        std::iota(words.begin(), words.end(), Word{0});
        std::strncpy(ksp.ks_module, module, sizeof(ksp.ks_module) - 1);
        std::strncpy(ksp.ks_name, name, sizeof(ksp.ks_name) - 1);
        ksp.ks_type = KSTAT_TYPE_RAW;
        ksp.ks_data = words.data();
        ksp.ks_data_size = words.size() * sizeof(Word);
        ksp.ks_ndata = static_cast<uint_t>(ksp.ks_data_size);
    }

    std::map<std::string, std::string> shown() const {
        std::map<std::string, std::string> values;
        for (const Statistic& s : decode_raw(ksp)) values[s.name] = value_text(s.value);
        return values;
    }

    std::vector<Word> words;
    kstat_t ksp{};
};

bool known(const char* module, const char* name) {
    return is_known_raw(Raw<uint32_t>(module, name, 1).ksp);
}

TEST(KstatRaw, AStructureIsKnownByItsNamesWithoutDigits) {
    EXPECT_TRUE(known("cpu_stat", "cpu_stat"));
    EXPECT_TRUE(known("cpu_stat", "cpu_stat13"));
    EXPECT_TRUE(known("unix", "var"));
    EXPECT_TRUE(known("unix", "ncstats"));
    EXPECT_TRUE(known("unix", "sysinfo"));
    EXPECT_TRUE(known("unix", "vminfo"));
    EXPECT_TRUE(known("nfs", "mntinfo"));
}

TEST(KstatRaw, ATimeBeyondAllMomentsIsTheLastOrTheFirstOne) {
    Raw<uint64_t> raw("devstat", "nbd0,devstat", 37);
    raw.words[3] = uint64_t{1} << 62;  // busy_from: seconds
    EXPECT_EQ(raw.shown().at("busy_from"), "9223372035.000000000");
    raw.words[3] = uint64_t{1} << 63;
    EXPECT_EQ(raw.shown().at("busy_from"), "-9223372035.000000000");
}

TEST(KstatRaw, AnEntryOfDevstatIsKnownByItsModule) {
    EXPECT_TRUE(known("devstat", "nbd0,devstat"));
    Raw<uint64_t> raw("devstat", "nbd0,devstat", 37);
    raw.words[3] = 12;                 // busy_from: seconds
    raw.words[4] = uint64_t{1} << 63;  // and half a second
    std::memcpy(reinterpret_cast<char*>(raw.words.data()) + 52, "nbd\0", 4);
    const auto shown = raw.shown();
    EXPECT_EQ(shown.at("busy_from"), "12.500000000");
    EXPECT_EQ(shown.at("device_name"), "nbd");
    EXPECT_EQ(shown.at("bytes_other"), "9");
    EXPECT_EQ(shown.at("operations_free"), "16");
    EXPECT_EQ(shown.at("tags_simple"), "30");
    EXPECT_EQ(shown.at("id"), "35");
    EXPECT_EQ(shown.at("sequence1"), "36");
}

// A blob like that of a device, with a few times in it.
Raw<uint64_t> a_blob() {
    statsblob* const blob = stats_blob_alloc(static_cast<uint32_t>(IoStatsTemplate::make()), 0);
    for (const uint64_t ns : {500u, 1500u, 1500u, 1'000'000u}) {
        EXPECT_EQ(stats_voi_update_abs_u64(blob, IoStatsTemplate::write_service, ns), 0);
    }
    Raw<uint64_t> raw("stats", "nbd0", (blob->cursz + 7u) / 8);
    std::memcpy(raw.words.data(), blob, blob->cursz);
    raw.ksp.ks_data_size = blob->cursz;
    stats_blob_destroy(blob);
    return raw;
}

TEST(KstatRaw, ABlobOfStatsIsTakenApartByItsVariables) {
    const Raw<uint64_t> raw = a_blob();
    EXPECT_TRUE(is_known_raw(raw.ksp));
    const auto shown = raw.shown();
    EXPECT_EQ(shown.at("write_service_ns_count"), "4");
    EXPECT_EQ(shown.at("write_service_ns_sum"), "1003500");
    EXPECT_EQ(shown.at("write_service_ns_min"), "500");
    EXPECT_EQ(shown.at("write_service_ns_max"), "1000000");
    EXPECT_EQ(shown.at("write_service_ns_p50"), "1500");
    EXPECT_EQ(shown.at("write_service_ns_p99.9"), "1000000");
    EXPECT_EQ(shown.at("write_service_ns_bucket_0000000000"), "1");
    EXPECT_EQ(shown.at("write_service_ns_bucket_0000001280"), "2");
    EXPECT_EQ(shown.at("read_wait_ns_count"), "0");
    EXPECT_FALSE(shown.contains("read_wait_ns_min"));
    EXPECT_FALSE(shown.contains("write_service_ns_bucket_0000001024"));
    EXPECT_FALSE(shown.contains("write_service_ns_outside"));
}

TEST(KstatRaw, ABlobThatIsNoneSaysSo) {
    using Shown = std::map<std::string, std::string>;
    const Raw<uint64_t> zeroes("stats", "nbd0", 0);
    EXPECT_EQ(zeroes.shown(), (Shown{}));
    Raw<uint64_t> cut = a_blob();
    --cut.ksp.ks_data_size;
    EXPECT_EQ(cut.shown(), (Shown{{"error", "not a blob of stats(3)"}}));
    cut.words[0] = 0x0909;
    EXPECT_EQ(cut.shown(), (Shown{{"error", "a blob of another machine or version of stats(3)"}}));
}

TEST(KstatRaw, NeitherABeginningNorALongerNameIsEnough) {
    EXPECT_FALSE(known("unix", "v"));
    EXPECT_FALSE(known("unix", ""));
    EXPECT_FALSE(known("uni", "var"));
    EXPECT_FALSE(known("unix", "variable"));
    EXPECT_FALSE(known("cpu_stat", "var"));
}

// Every word's value is its own index in the structure; the lock at the front counts too.
TEST(KstatRaw, ACpuStatHasTheCountersOfAProcessor) {
    const Raw<uint32_t> cpu("cpu_stat", "cpu_stat0", 2 + 7 + 52 + 3 + 31);
    const auto values = cpu.shown();
    EXPECT_EQ(values.size(), 7u + 46 + 3 + 31);
    EXPECT_EQ(values.at("idle"), "2");
    EXPECT_EQ(values.at("wait_pio"), "8");
    EXPECT_EQ(values.at("bread"), "9");
    EXPECT_EQ(values.at("intr"), "17");
    EXPECT_EQ(values.at("intrthread"), "42");
    EXPECT_EQ(values.at("intrblk"), "43");
    EXPECT_EQ(values.at("bawrite"), "54");
    EXPECT_EQ(values.at("iowait"), "61");
    EXPECT_EQ(values.at("pgrec"), "64");
    EXPECT_EQ(values.at("fsfree"), "94");
}

TEST(KstatRaw, AVminfoIsOf64BitsAndTheOthersAreNot) {
    Raw<uint64_t> vminfo("unix", "vminfo", 6);
    vminfo.words[0] = 18'446'744'073'709'551'615U;
    EXPECT_EQ(vminfo.shown().at("freemem"), "18446744073709551615");
    EXPECT_EQ(vminfo.shown().at("updates"), "5");

    Raw<uint32_t> sysinfo("unix", "sysinfo", 6);
    sysinfo.words[5] = 4'294'967'295U;
    EXPECT_EQ(sysinfo.shown().at("waiting"), "4294967295");
    EXPECT_EQ(sysinfo.shown().at("runque"), "1");

    Raw<int32_t> var("unix", "var", 15);
    var.words[14] = -1;
    EXPECT_EQ(var.shown().at("v_bufhwm"), "-1");
    EXPECT_EQ(var.shown().at("v_proc"), "2");

    const Raw<int32_t> ncstats("unix", "ncstats", 8);
    EXPECT_EQ(ncstats.shown().at("hits"), "0");
    EXPECT_EQ(ncstats.shown().at("purges"), "7");
}

TEST(KstatRaw, AnNfsMountHasItsServerAtTheEnd) {
    Raw<uint32_t> mount("nfs", "mntinfo", 123);
    auto* const bytes = reinterpret_cast<char*>(mount.words.data());
    std::memset(bytes, 't', 128);  // fills the field
    std::strcpy(bytes + 128 + 4 * 26, "server");
    const auto values = mount.shown();
    EXPECT_EQ(values.at("mik_proto"), std::string(128, 't'));
    EXPECT_EQ(values.at("mik_vers"), "32");
    EXPECT_EQ(values.at("mik_retrans"), "38");
    EXPECT_EQ(values.at("lookup_srtt"), "43");
    EXPECT_EQ(values.at("write_rtxcur"), "51");
    EXPECT_EQ(values.at("mik_remap"), "57");
    EXPECT_EQ(values.at("mik_curserver"), "server");
}

TEST(KstatRaw, WithTooLittleDataThereIsNothing) {
    EXPECT_TRUE(Raw<uint32_t>("unix", "sysinfo", 5).shown().empty());
    EXPECT_FALSE(Raw<uint32_t>("unix", "sysinfo", 6).shown().empty());
    EXPECT_FALSE(Raw<uint32_t>("unix", "sysinfo", 7).shown().empty());
    EXPECT_TRUE(Raw<uint32_t>("unix", "other", 6).shown().empty());
    Raw<uint32_t> unread("unix", "sysinfo", 6);
    unread.ksp.ks_data = nullptr;
    EXPECT_TRUE(unread.shown().empty());
}

}  // namespace
}  // namespace blkscope::kstat_command
