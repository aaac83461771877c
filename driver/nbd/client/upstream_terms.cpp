#include "driver/nbd/client/upstream_terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>

namespace blkscope::nbd {
namespace {

constexpr uint32_t preferred_bytes_min = 512;
constexpr uint32_t preferred_bytes_max = uint32_t{32} << 20;

// A request of ours is no longer than this, even if the server has no limit.
uint32_t request_bytes_max(const BlockSize& size) {
    const uint32_t most = std::min(size.maximum, Abilities{}.request_bytes_max);
    return most - most % size.minimum;
}

}  // namespace

std::string unusable(const RemoteExport& remote) {
    if (remote.size_bytes == 0) return "the export is empty";
    if (remote.size_bytes > uint64_t{std::numeric_limits<int64_t>::max()}) {
        return "the export has an impossible size";
    }
    if (remote.size_bytes % remote.block_size.minimum != 0) {
        return "the export's size is no multiple of its blocks";
    }
    if (request_bytes_max(remote.block_size) < preferred_bytes_min) {
        return "the export's requests must be shorter than 512 bytes";
    }
    return {};
}

Abilities abilities_of(const RemoteExport& remote) {
    assert(unusable(remote).empty());
    namespace flag = transmission_flag;
    const BlockSize& size = remote.block_size;
    const uint32_t most = request_bytes_max(size);
    const uint32_t least = std::max(preferred_bytes_min, size.minimum);
    const uint32_t preferred = std::clamp(size.preferred, least, preferred_bytes_max);
    const bool zeroes = remote.offers(flag::send_write_zeroes);
    return {
        .read_only = remote.offers(flag::read_only),
        .flush = remote.offers(flag::send_flush),
        .fua = remote.offers(flag::send_fua),
        .trim = remote.offers(flag::send_trim),
        .write_zeroes = zeroes,
        .fast_zero = zeroes && remote.offers(flag::send_fast_zero),
        .holes = remote.terms.allocation,
        .block_bytes_preferred = std::min(std::bit_floor(preferred), std::bit_floor(most)),
        .request_bytes_max = most,
    };
}

std::string shortcoming(const RemoteExport& offered, const RemoteExport& now) {
    if (std::string why = unusable(now); !why.empty()) return why;
    if (now.size_bytes != offered.size_bytes) {
        return fmt::format("the export has {} bytes now and had {}", now.size_bytes,
                           offered.size_bytes);
    }
    const Abilities had = abilities_of(offered);
    const Abilities has = abilities_of(now);
    if (has.read_only && !had.read_only) return "the export is read-only now";
    if (had.flush && !has.flush) return "the export cannot be flushed any more";
    if (has.flush && !had.flush) return "the export has a cache now, which nobody flushes";
    if (had.fua && !has.fua) return "the export has no FUA any more";
    if (had.trim && !has.trim) return "the export cannot be trimmed any more";
    if ((had.write_zeroes && !has.write_zeroes) || (had.fast_zero && !has.fast_zero)) {
        return "the export cannot write zeroes as it could";
    }
    const uint16_t cache = transmission_flag::send_cache;
    if (offered.offers(cache) && !now.offers(cache)) return "the export has no cache any more";
    if (had.holes && !has.holes) return "the export has no block status any more";
    if (now.block_size.minimum > offered.block_size.minimum) {
        return "the export has larger blocks now";
    }
    if (has.request_bytes_max < had.request_bytes_max) {
        return "the export takes shorter requests only now";
    }
    return {};
}

}  // namespace blkscope::nbd
