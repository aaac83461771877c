// The list of the made-up machine's kstats, and machines that lack something.
#include <fcntl.h>
#include <unistd.h>

#include <random>
#include <sstream>

#include "host_machine.hpp"
#include "kstat/host/files.hpp"

namespace blkscope::kstat::host {

namespace {

using HostList = HostMachine;

constexpr const char* files[] = {"/proc/stat",       "/proc/vmstat",
                                 "/proc/meminfo",    "/proc/diskstats",
                                 "/proc/loadavg",    "/proc/cpuinfo",
                                 "/proc/interrupts", "/proc/schedstat",
                                 "/proc/zoneinfo",   "/proc/sys/fs/dentry-state"};

void read_all(Host& host) {
    for (const kstat_t& ks : host.list()) {
        if (const auto data = host.read(ks.ks_kid)) {
            EXPECT_TRUE(ks.ks_data_size == 0 || data->bytes.size() == ks.ks_data_size)
                << ks.ks_name;
        }
    }
}

TEST(FreshValue, AValueOfAnyLookIsUsedUntilItIsTooOld) {
    Fresh<int> value;
    constexpr hrtime_t hour = 3'600'000'000'000;
    const auto get = [&](const Age& age, int made) { return value.get(age, [&] { return made; }); };
    EXPECT_EQ(get({hour, 1}, 1), 1);
    EXPECT_EQ(get({hour, 1}, 2), 1);
    EXPECT_EQ(get({hour}, 3), 1);
    EXPECT_EQ(get({hour, 2}, 4), 4);
    EXPECT_EQ(get({-1}, 5), 5);
}

TEST_F(HostList, EveryKstatHasTheDataThatItsHeaderPromises) {
    Host host(root);
    for (const kstat_t& ks : host.list()) {
        const auto data = host.read(ks.ks_kid);
        ASSERT_TRUE(data) << full_name(ks);
        const bool changes_size = (ks.ks_flags & KSTAT_FLAG_VAR_SIZE) != 0;
        if (changes_size) continue;
        EXPECT_EQ(data->bytes.size(), ks.ks_data_size) << full_name(ks);
        EXPECT_EQ(data->ndata, ks.ks_ndata) << full_name(ks);
    }
}

TEST_F(HostList, NumbersAscendAndStay) {
    Host host(root);
    const auto first = host.list();
    const auto second = host.list();
    ASSERT_EQ(first.size(), second.size());
    for (size_t i = 0; i < first.size(); ++i) {
        EXPECT_EQ(first[i].ks_kid, second[i].ks_kid);
        EXPECT_GT(first[i].ks_kid, i > 0 ? first[i - 1].ks_kid : 0);
    }
    EXPECT_FALSE(host.read(first.back().ks_kid + 1));
}

TEST_F(HostList, AMachineWithoutFilesHasNoKstats) {
    Host host(root + "/nowhere");
    EXPECT_TRUE(host.list().empty());
}

TEST_F(HostList, AKstatWhoseFileIsMissingOrEmptyIsAbsent) {
    for (const auto& [file, name] :
         {std::pair("/proc/stat", "cpu:0:sys"), std::pair("/proc/stat", "unix:0:sysinfo"),
          std::pair("/proc/vmstat", "cpu:0:vm"), std::pair("/proc/meminfo", "unix:0:system_pages"),
          std::pair("/proc/meminfo", "unix:0:vminfo"),
          std::pair("/proc/loadavg", "unix:0:system_misc"),
          std::pair("/proc/cpuinfo", "cpu_info:0:cpu_info0"),
          std::pair("/proc/diskstats", "linux:0:vda"),
          std::pair("/proc/sys/kernel/threads-max", "unix:0:var"),
          std::pair("/proc/sys/fs/dentry-state", "unix:0:dnlcstats")}) {
        ASSERT_TRUE(look(name)) << name;
        std::ifstream whole(root + file);
        std::stringstream kept;
        kept << whole.rdbuf();
        write(file, "");
        EXPECT_FALSE(look(name)) << name;
        remove(file);
        EXPECT_FALSE(look(name)) << name;
        write(file, kept.str());
    }
}

TEST_F(HostList, GarbageNeitherEndsNorHoldsUpTheReader) {
    std::mt19937 random(20260721);
    for (int round = 0; round < 40; ++round) {
        for (const char* file : files) {
            std::string noise;
            for (auto i = random() % 2000; i > 0; --i) {
                noise += "0123456789 \n:cpuintrMemTotal-.,\t\0\xff"[random() % 35];
            }
            write(file, noise);
        }
        Host host(root);
        read_all(host);
    }
}

TEST_F(HostList, ATruncatedFileIsReadAsFarAsItGoes) {
    std::mt19937 random(20260721);
    for (int round = 0; round < 40; ++round) {
        const char* const file = files[random() % std::size(files)];
        std::ifstream whole(root + file);
        std::stringstream text;
        text << whole.rdbuf();
        write(file, text.str().substr(0, random() % (text.str().size() + 1)));
        Host host(root);
        read_all(host);
    }
}

TEST_F(HostList, AFileThatIsAFolderIsAMissingOne) {
    for (const char* file : files) {
        remove(file);
        write(std::string(file) + "/it", "");
    }
    Host host(root);
    read_all(host);
    EXPECT_FALSE(find(host, "cpu:0:sys"));
}

TEST_F(HostList, AFileThatAnotherOneReplacesIsReadFromThen) {
    Host host(root);
    const auto misc = find(host, "unix:0:system_misc");
    ASSERT_TRUE(misc);
    EXPECT_NE(number(*host.read(misc->ks_kid), "nproc"), 4321u);
    write("/proc/new", "0.10 0.20 0.30 1/4321 99\n");
    std::filesystem::rename(root + "/proc/new", root + "/proc/loadavg");
    EXPECT_TRUE(eventually([&] { return number(*host.read(misc->ks_kid), "nproc") == 4321; }));
}

// A rate over two reads divides by the difference of their moments.
TEST_F(HostList, EachReadOfAKstatHasAMomentOfItsOwn) {
    Host host(root);
    for (const kstat_t& ks : host.list()) {
        hrtime_t last = 0;
        for (int i = 0; i < 3; ++i) {
            const auto data = host.read(ks.ks_kid);
            ASSERT_TRUE(data) << full_name(ks);
            EXPECT_GT(data->snaptime, last) << full_name(ks);
            last = data->snaptime;
        }
    }
}

TEST_F(HostList, ASecondReadSeesWhatHasChangedSinceTheFirst) {
    Host host(root);
    const auto misc = find(host, "unix:0:system_misc");
    ASSERT_TRUE(misc);
    EXPECT_NE(number(*host.read(misc->ks_kid), "nproc"), 4321u);
    write("/proc/loadavg", "0.10 0.20 0.30 1/4321 99\n");
    EXPECT_EQ(number(*host.read(misc->ks_kid), "nproc"), 4321u);
}

TEST_F(HostList, TheKstatsOfOneSweepShareALook) {
    Host host(root);
    for (int attempt = 0; attempt < 100; ++attempt) {
        const auto first = find(host, "cpu:0:sys");
        const auto second = find(host, "cpu:2:sys");
        ASSERT_TRUE(first && second);
        const auto one = host.read(first->ks_kid);
        const auto other = host.read(second->ks_kid);
        if (one->snaptime == other->snaptime) return;  // else this thread was delayed by 5 ms
    }
    FAIL() << "each kstat had a look of its own";
}

std::vector<int> descriptors_under(const std::string& folder) {
    std::vector<int> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        const auto target = std::filesystem::read_symlink(entry.path(), gone);
        if (target.string().starts_with(folder))
            found.push_back(std::stoi(entry.path().filename()));
    }
    return found;
}

// A daemon closes what it finds open; the numbers come back as files of its own.
TEST_F(HostList, ADescriptorThatTheProgramClosedAndUsedAnewIsLeftAlone) {
    write("/own", "9.90 9.90 9.90 9/9999 9\n");
    std::vector<int> taken;
    {
        Host host(root);
        const auto misc = find(host, "unix:0:system_misc");
        ASSERT_TRUE(misc);
        taken = descriptors_under(root);
        ASSERT_FALSE(taken.empty());
        const int own = open((root + "/own").c_str(), O_RDONLY | O_CLOEXEC);
        for (const int file : taken) ASSERT_EQ(dup2(own, file), file);
        close(own);
        write("/proc/loadavg", "0.10 0.20 0.30 1/4321 99\n");
        EXPECT_TRUE(eventually([&] { return number(*host.read(misc->ks_kid), "nproc") == 4321; }));
    }
    for (const int file : taken) EXPECT_EQ(close(file), 0) << "closed by another";
    EXPECT_TRUE(descriptors_under(root).empty());
}

// A user looks a record's meaning up there.
TEST_F(HostList, TheManualNamesEveryRecord) {
    std::ifstream file(HOST_MANUAL);
    std::stringstream manual;
    manual << file.rdbuf();
    Host host(root);
    for (const kstat_t& ks : host.list()) {
        if (ks.ks_type != KSTAT_TYPE_NAMED) continue;
        const auto data = host.read(ks.ks_kid);
        ASSERT_TRUE(data);
        for (size_t i = 0; i < data->ndata; ++i) {
            const std::string name =
                reinterpret_cast<const char*>(data->bytes.data() + i * sizeof(kstat_named_t));
            EXPECT_NE(manual.str().find("`" + name + "`"), std::string::npos)
                << full_name(ks) << ":" << name;
        }
    }
}

}  // namespace

}  // namespace blkscope::kstat::host
