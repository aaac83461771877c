// A made-up machine: a copy of the files in host/machine, which a test may change.
//
//     processors 0 and 2 are online, 1 is not
//     vda with a partition, nvme0n1 with one (15 counters), nbd0, sdab (11 counters); a drive sr0
//     without a medium; loop0
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "../../eventually.hpp"
#include "../temporary_folder.hpp"
#include "kstat/host/host.hpp"

namespace blkscope::kstat::host {

class HostMachine : public testing::Test {
  protected:
    HostMachine() {
        std::filesystem::copy(HOST_MACHINE, root, std::filesystem::copy_options::recursive);
    }

    void write(const std::string& path, const std::string& text) const {
        std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
        std::ofstream(root + path) << text;
    }
    void remove(const std::string& path) const { std::filesystem::remove_all(root + path); }

    static std::string full_name(const kstat_t& ks) {
        return std::string(ks.ks_module) + ":" + std::to_string(ks.ks_instance) + ":" + ks.ks_name;
    }
    static std::optional<kstat_t> find(Host& host, const std::string& name) {
        for (const kstat_t& ks : host.list()) {
            if (full_name(ks) == name) return ks;
        }
        return std::nullopt;
    }
    static std::vector<std::string> names(Host& host) {
        std::vector<std::string> all;
        for (const kstat_t& ks : host.list()) all.push_back(full_name(ks));
        return all;
    }

    /// The result of a fresh look at the machine.
    std::optional<Data> look(const std::string& name) const {
        Host host(root);
        const auto ks = find(host, name);
        return ks ? host.read(ks->ks_kid) : std::nullopt;
    }
    static std::optional<kstat_named_t> record(const Data& data, const std::string& name) {
        for (size_t i = 0; i < data.ndata; ++i) {
            kstat_named_t one;
            std::memcpy(&one, data.bytes.data() + i * sizeof one, sizeof one);
            if (name == one.name) return one;
        }
        return std::nullopt;
    }
    static uint64_t number(const Data& data, const std::string& name) {
        const auto one = record(data, name);
        EXPECT_TRUE(one) << name;
        if (!one) return 0;
        const bool narrow =
            one->data_type == KSTAT_DATA_INT32 || one->data_type == KSTAT_DATA_UINT32;
        return narrow ? one->value.ui32 : one->value.ui64;
    }
    static std::string text(const Data& data, const std::string& name) {
        const auto one = record(data, name);
        EXPECT_TRUE(one) << name;
        if (!one) return {};
        if (one->data_type == KSTAT_DATA_CHAR) return one->value.c;
        size_t offset = 0;
        std::memcpy(&offset, &one->value.str.addr, sizeof offset);
        return reinterpret_cast<const char*>(data.bytes.data()) + offset;
    }
    template <class T>
    static T as(const Data& data) {
        T value{};
        EXPECT_EQ(data.bytes.size(), sizeof value);
        std::memcpy(&value, data.bytes.data(), std::min(sizeof value, data.bytes.size()));
        return value;
    }

    const test::TemporaryFolder folder;
    const std::string root = folder;
};

}  // namespace blkscope::kstat::host
