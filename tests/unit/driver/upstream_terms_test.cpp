#include "driver/nbd/client/upstream_terms.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace blkscope::nbd {
namespace {

namespace flag = transmission_flag;

constexpr uint16_t every_flag = flag::has_flags | flag::send_flush | flag::send_fua |
                                flag::send_trim | flag::send_write_zeroes | flag::send_cache |
                                flag::send_fast_zero;

RemoteExport remote(uint16_t flags = every_flag) {
    RemoteExport remote;
    remote.size_bytes = 1 << 20;
    remote.transmission_flags = flags;
    remote.terms.allocation = true;
    return remote;
}

TEST(UpstreamTerms, AnAbilityIsOfferedIfTheServerHasIt) {
    EXPECT_EQ(abilities_of(remote()), (Abilities{}));
    const Abilities none = abilities_of(remote(flag::has_flags | flag::read_only));
    EXPECT_TRUE(none.read_only);
    EXPECT_FALSE(none.flush || none.fua || none.trim || none.write_zeroes || none.fast_zero);
    EXPECT_FALSE(abilities_of(remote(every_flag & ~flag::has_flags)).flush);
    RemoteExport without = remote();
    without.terms.allocation = false;
    EXPECT_FALSE(abilities_of(without).holes);
    // Fast zeroes without zeroes make no sense, and a client would stumble over them.
    EXPECT_FALSE(abilities_of(remote(every_flag & ~flag::send_write_zeroes)).fast_zero);
}

TEST(UpstreamTerms, BlockSizesAreThoseThatNbdAllows) {
    RemoteExport odd = remote();
    odd.block_size = {.minimum = 4096, .preferred = 100'000, .maximum = 4096 * 100};
    EXPECT_EQ(abilities_of(odd).block_bytes_preferred, 65536u);
    EXPECT_EQ(abilities_of(odd).request_bytes_max, 4096u * 100);
    odd.block_size = {
        .minimum = 1, .preferred = 1, .maximum = std::numeric_limits<uint32_t>::max()};
    EXPECT_EQ(abilities_of(odd).block_bytes_preferred, 512u);
    EXPECT_EQ(abilities_of(odd).request_bytes_max, uint32_t{32} << 20);
    odd.block_size = {.minimum = 512, .preferred = UINT32_MAX, .maximum = 1000};
    EXPECT_EQ(abilities_of(odd).block_bytes_preferred, 512u);
    EXPECT_EQ(abilities_of(odd).request_bytes_max, 512u);
}

TEST(UpstreamTerms, AnImpossibleExportIsNoBacking) {
    EXPECT_EQ(unusable(remote()), "");
    RemoteExport bad = remote();
    bad.size_bytes = 0;
    EXPECT_NE(unusable(bad), "");
    bad.size_bytes = uint64_t{1} << 63;
    EXPECT_NE(unusable(bad), "");
    bad.size_bytes = 1000;
    bad.block_size.minimum = 512;
    EXPECT_NE(unusable(bad), "");
    bad = remote();
    bad.block_size.maximum = 511;
    EXPECT_NE(unusable(bad), "");
}

TEST(UpstreamTerms, ANewConnectionMustAllowWhatClientsWereTold) {
    EXPECT_EQ(shortcoming(remote(), remote()), "");
    EXPECT_EQ(shortcoming(remote(every_flag & ~flag::send_trim), remote()), "");
    for (const uint16_t lost : {flag::send_flush, flag::send_fua, flag::send_trim,
                                flag::send_write_zeroes, flag::send_cache, flag::send_fast_zero}) {
        EXPECT_NE(shortcoming(remote(), remote(every_flag & ~lost)), "") << lost;
    }
    EXPECT_NE(shortcoming(remote(), remote(every_flag | flag::read_only)), "");
    EXPECT_NE(shortcoming(remote(every_flag & ~flag::send_flush), remote()), "");
    RemoteExport now = remote();
    now.size_bytes *= 2;
    EXPECT_EQ(shortcoming(remote(), now), "the export has 2097152 bytes now and had 1048576");
    now = remote();
    now.terms.allocation = false;
    EXPECT_NE(shortcoming(remote(), now), "");
    now = remote();
    now.block_size.minimum = 512;
    EXPECT_NE(shortcoming(remote(), now), "");
    now = remote();
    now.block_size.maximum = 65536;
    EXPECT_NE(shortcoming(remote(), now), "");
}

}  // namespace
}  // namespace blkscope::nbd
