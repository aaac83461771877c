// The kstats that a served device publishes beside its queues, as other processes see them.

#include <blkscope/geometry.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "served_device.hpp"

namespace blkscope::test {
namespace {

class DeviceKstats : public ServedDevice {
  protected:
    using Chain = std::unique_ptr<kstat_ctl_t, int (*)(kstat_ctl_t*)>;

    /// The data of a kstat of any type; empty where there is none.
    static std::vector<std::byte> read_data(const std::string& name) {
        const Chain chain(kstat_open(), kstat_close);
        kstat_t* ksp = chain ? kstat_lookup(chain.get(), nullptr, -1, name.c_str()) : nullptr;
        if (ksp == nullptr || kstat_read(chain.get(), ksp, nullptr) < 0) return {};
        const auto* data = static_cast<const std::byte*>(ksp->ks_data);
        return {data, data + ksp->ks_data_size};
    }

    template <class Record>
    static Record read_record(const std::string& name) {
        const auto data = read_data(name);
        Record record{};
        EXPECT_GE(data.size(), sizeof record) << name;
        if (data.size() >= sizeof record) std::memcpy(&record, data.data(), sizeof record);
        return record;
    }

    static uint32_t read_error_count(const std::string& record) {
        const Chain chain(kstat_open(), kstat_close);
        kstat_t* ksp = kstat_lookup(chain.get(), "nbderr", 0, "nbd0,err");
        if (ksp == nullptr || kstat_read(chain.get(), ksp, nullptr) < 0) {
            ADD_FAILURE() << "no error kstat";
            return 0;
        }
        auto* named = static_cast<kstat_named_t*>(kstat_data_lookup(ksp, record.c_str()));
        return named != nullptr ? named->value.ui32 : 0;
    }

    /// Partitions a file with sfdisk, from its script language.
    void partition(const std::string& image, const std::string& script) {
        const std::string input = path("sfdisk.script");
        std::ofstream(input) << script;
        succeed({"sh", "-c", "sfdisk --quiet '" + image + "' < '" + input + "'"});
    }

    /// The last word of each line of a report: its devices.
    std::string devices_of(const std::vector<std::string>& options) {
        std::vector<std::string> arguments{IOSTAT_BINARY};
        arguments.insert(arguments.end(), options.begin(), options.end());
        std::istringstream report(succeed(arguments));
        std::string devices;
        for (std::string line; std::getline(report, line);) {
            const std::string last = line.substr(line.rfind(' ') + 1);
            if (last.starts_with("nbd")) devices += last + " ";
        }
        return devices;
    }
};

constexpr const char* two_gpt_partitions =
    "label: gpt\nstart=1MiB, size=2MiB\nstart=4MiB, size=8MiB\n";

TEST_F(DeviceKstats, PartitionsOfAGptAreAccountedAndShownByIostat) {
    NEEDS("sfdisk");
    const std::string image = make_image("disk.img", 16 * mib);
    partition(image, two_gpt_partitions);
    serve(image);
    {
        Client client(uri());
        EXPECT_EQ(client.try_read(1 * mib, 8192), 0);
        EXPECT_EQ(client.try_write(4 * mib, 4096), 0);
        EXPECT_EQ(client.try_write(12 * mib - 512, 512), 0);
        EXPECT_EQ(client.try_read(3 * mib - 512, 1024), 0);  // 1 and what follows it
    }
    EXPECT_EQ(read_io("nbd0,1").reads, 1u);
    EXPECT_EQ(read_io("nbd0,1").nread, 8192u);
    EXPECT_EQ(read_io("nbd0,2").writes, 2u);
    EXPECT_EQ(read_io("nbd0,2").nwritten, 4608u);
    EXPECT_EQ(read_io("nbd0").reads, 2u);
    EXPECT_EQ(devices_of({"-xn"}), "nbd0 ");
    EXPECT_EQ(devices_of({"-xnp"}), "nbd0 nbd0,1 nbd0,2 ");
    EXPECT_EQ(devices_of({"-xnP"}), "nbd0,1 nbd0,2 ");
}

TEST_F(DeviceKstats, LogicalPartitionsOfAnMbrAreFound) {
    NEEDS("sfdisk");
    const std::string image = make_image("disk.img", 32 * mib);
    partition(image,
              "label: dos\nstart=1MiB, size=4MiB, type=83\nstart=8MiB, size=20MiB, type=5\n"
              "start=9MiB, size=4MiB, type=83\nstart=16MiB, size=4MiB, type=83\n");
    serve(image);
    Client client(uri());
    EXPECT_EQ(client.try_read(9 * mib, 4096), 0);
    EXPECT_EQ(client.try_read(20 * mib - 4096, 4096), 0);
    EXPECT_EQ(devices_of({"-xnP"}), "nbd0,1 nbd0,5 nbd0,6 ");
    EXPECT_EQ(read_io("nbd0,5").reads, 1u);
    EXPECT_EQ(read_io("nbd0,6").reads, 1u);
}

TEST_F(DeviceKstats, ATableThatAClientWritesIsFoundWhenItFlushes) {
    NEEDS("sfdisk");
    const std::string image = make_image("table.img", 16 * mib);
    partition(image, two_gpt_partitions);
    std::vector<char> table(mib);
    std::ifstream(image, std::ios::binary).read(table.data(), mib);
    serve("memory:16M");
    Client client(uri());
    EXPECT_EQ(devices_of({"-xnp"}), "nbd0 ");
    ASSERT_EQ(nbd_pwrite(client.get(), table.data(), table.size(), 0, 0), 0);
    ASSERT_EQ(nbd_flush(client.get(), 0), 0);
    EXPECT_EQ(devices_of({"-xnp"}), "nbd0 nbd0,1 nbd0,2 ");
    ASSERT_EQ(client.try_write(0, mib, '\0'), 0);
    ASSERT_EQ(nbd_flush(client.get(), 0), 0);
    EXPECT_EQ(devices_of({"-xnp"}), "nbd0 ");
}

TEST_F(DeviceKstats, PartitionsAreFoundPastThePageCache) {
    NEEDS("sfdisk");
    const std::string image = make_image("disk.img", 16 * mib);
    partition(image, two_gpt_partitions);
    serve(image, {"--direct"});
    EXPECT_EQ(devices_of({"-xnP"}), "nbd0,1 nbd0,2 ");
}

TEST_F(DeviceKstats, ABadTableIsOneLineOnStandardErrorAndTheDiskIsServed) {
    NEEDS("sfdisk");
    const std::string image = make_image("disk.img", 16 * mib);
    partition(image, two_gpt_partitions);
    std::fstream(image, std::ios::binary | std::ios::in | std::ios::out).seekp(512 + 40).put('!');
    serve(image);
    EXPECT_NE(server_->output().find("nbd0: partition table ignored: the CRC of the GPT header"),
              std::string::npos)
        << server_->output();
    EXPECT_EQ(Client(uri()).try_read(0, 512), 0);
    EXPECT_EQ(devices_of({"-xnp"}), "nbd0 ");
}

TEST_F(DeviceKstats, ARefusedRequestIsIllegalAndATruncatedImageAMediaError) {
    const std::string image = make_image("disk.img", 4 * mib);
    serve(image);
    Client client(uri());
    nbd_set_strict_mode(client.get(), 0);
    EXPECT_EQ(client.try_read(4 * mib, 4096), EINVAL);
    EXPECT_EQ(read_error_count("Illegal Request"), 1u);
    EXPECT_EQ(read_error_count("Hard Errors"), 0u);
    std::filesystem::resize_file(image, mib);
    EXPECT_EQ(client.try_read(2 * mib, 4096), EIO);
    EXPECT_EQ(read_error_count("Hard Errors"), 1u);
    EXPECT_EQ(read_error_count("Media Error"), 1u);
    EXPECT_EQ(read_error_count("Illegal Request"), 1u);
}

TEST_F(DeviceKstats, InterruptsAddUpToTheOperations) {
    serve(make_image("disk.img", mib));
    {
        Client client(uri());
        for (int i = 0; i < 100; ++i) ASSERT_EQ(client.try_read(4096, 4096), 0);
    }
    const auto counts = read_record<kstat_intr_t>("nbd0,intr");
    EXPECT_EQ(counts.intrs[KSTAT_INTR_HARD] + counts.intrs[KSTAT_INTR_MULTSVC], 100u);
    EXPECT_GE(counts.intrs[KSTAT_INTR_HARD], 100u);  // one at a time: none in another's wake
    EXPECT_EQ(counts.intrs[KSTAT_INTR_SOFT], 1u);
    EXPECT_EQ(counts.intrs[KSTAT_INTR_WATCHDOG], 0u);
}

TEST_F(DeviceKstats, GeometryIsWhatTheClientIsTold) {
    serve(make_image("disk.img", 4 * mib), {"--queue-depth", "7"});
    const auto geometry = read_record<blkscope_geometry_t>("nbd0,geometry");
    Client client(uri());
    EXPECT_EQ(geometry.version, 1u);
    EXPECT_EQ(geometry.size_bytes, static_cast<uint64_t>(nbd_get_size(client.get())));
    EXPECT_EQ(geometry.queue_depth, 7u);
    EXPECT_EQ(geometry.sector_bytes, 512u);
    const auto told = [&](int what) {
        return static_cast<uint32_t>(nbd_get_block_size(client.get(), what));
    };
    EXPECT_EQ(geometry.block_bytes_min, told(LIBNBD_SIZE_MINIMUM));
    EXPECT_EQ(geometry.block_bytes_preferred, told(LIBNBD_SIZE_PREFERRED));
    EXPECT_EQ(geometry.block_bytes_max, told(LIBNBD_SIZE_MAXIMUM));
    EXPECT_EQ((geometry.transmission_flags & BLKSCOPE_GEOMETRY_TRIM) != 0,
              nbd_can_trim(client.get()) == 1);
    EXPECT_EQ((geometry.transmission_flags & BLKSCOPE_GEOMETRY_READ_ONLY) != 0,
              nbd_is_read_only(client.get()) == 1);
}

}  // namespace
}  // namespace blkscope::test
