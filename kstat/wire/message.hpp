// The messages on a provider's socket: requests one way, one reply to each the other way.
//
//     reader                                          provider
//       | -- RequestHead hello    + Hello ------------->  |
//       | <- ReplyHead            + Welcome ------------  |
//       | -- RequestHead chain_id --------------------->  |
//       | <- ReplyHead (its chain_id) ------------------  |
//       | -- RequestHead headers  + ListFrom ---------->  |
//       | <- ReplyHead            + Page + Header ... --  |
//       | -- RequestHead read     + DataHead ---------->  |
//       | <- ReplyHead            + DataHead + data ----  |
//       | -- RequestHead write    + DataHead + data --->  |
//       | <- ReplyHead ---------------------------------  |
//
// A head gives the number of bytes that follow it. Numbers are in the machine's own byte order:
// both ends are on one machine. A provider answers an unknown operation with EINVAL. Operations can
// therefore be added without a new version.
//
// String pointers in NAMED data travel as offsets from the start of the data, 0 for null.
//
// Ownership: nothing here keeps its arguments.
// Errors:    a decoder returns nothing (or false) for bytes that no peer of this project sends. The
//            connection is then useless.
#pragma once

#include <sys/kstat.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace blkscope::kstat::wire {

using Bytes = std::span<const std::byte>;

inline constexpr uint32_t magic = 0x54'41'54'53;
inline constexpr uint32_t version = 1;

/// Bytes of one kstat's data.
inline constexpr uint32_t data_size_max = 64U << 20;
/// Limit of the bytes behind a RequestHead from any reader. Larger writes need the right to write.
inline constexpr uint32_t small_request_max = 64U << 10;
inline constexpr uint32_t headers_per_page = 2048;

enum class Op : uint16_t {
    hello = 1,
    chain_id = 2,
    headers = 3,
    read = 4,
    write = 5,
    // kstat2: kstat/wire/kstat2.hpp
    kstat2_generation = 16,
    kstat2_list = 17,
    kstat2_read = 18,
    kstat2_optional_list = 19,
    kstat2_optional_set = 20,
};

struct RequestHead {
    uint32_t length;  // bytes that follow
    uint16_t op;
    uint16_t reserved;
    uint32_t sequence;  // returned in the reply
    uint32_t reserved_too;
};

struct ReplyHead {
    uint32_t length;
    int32_t error;  // an errno, 0 for success
    uint32_t sequence;
    int32_t chain_id;  // the provider's, at the time of its answer
};

struct Hello {
    uint32_t magic;
    uint32_t version;
};

struct Welcome {
    uint32_t magic;
    uint32_t version;
    uint64_t identity;  // a random number of this provider process, the same on every connection
};

struct ListFrom {
    int32_t after_kid;
    uint32_t reserved;
};

struct Page {
    uint32_t count;  // headers that follow
    uint32_t more;   // 1 if another page follows this one's last kid: then this one is full
};

struct Header {
    int64_t crtime;
    int64_t snaptime;
    uint64_t data_size;
    int32_t kid;
    int32_t instance;
    uint32_t ndata;
    uint8_t type;
    uint8_t flags;
    char module[KSTAT_STRLEN];
    char name[KSTAT_STRLEN];
    char klass[KSTAT_STRLEN];
    char reserved[5];
};

/// In a read request only `kid` counts. In the reply, and in a write request, the head describes
/// `data`.
struct DataHead {
    int64_t snaptime;
    uint64_t data_size;
    int32_t kid;
    uint32_t ndata;
    uint8_t type;
    uint8_t flags;
    uint8_t reserved[6];
};

inline constexpr uint32_t reply_length_max =
    sizeof(DataHead) + data_size_max + headers_per_page * sizeof(Header);
static_assert(sizeof(RequestHead) == 16 && sizeof(ReplyHead) == 16 && sizeof(Header) == 136 &&
              sizeof(DataHead) == 32);

/// Limit of the bytes behind the ReplyHead of a reply to `op`. Only a kstat's data is long.
uint32_t reply_length_limit(Op op);

/// The struct's bytes.
template <class T>
requires std::is_trivially_copyable_v<T> Bytes bytes_of(const T& value) {
    return std::as_bytes(std::span<const T, 1>(&value, 1));
}

/// Takes a T off the front of `bytes`; nothing if there are too few bytes.
template <class T>
requires std::is_trivially_copyable_v<T> std::optional<T> take(Bytes& bytes) {
    if (bytes.size() < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    bytes = bytes.subspan(sizeof value);
    return value;
}

/// A whole request; `data` may follow the body.
std::vector<std::byte> encode_request(Op op, uint32_t sequence, Bytes body, Bytes data = {});

/// A reply but for its data: `data_size` bytes are to follow it.
std::vector<std::byte> encode_reply(ReplyHead head, Bytes body, size_t data_size = 0);

std::vector<std::byte> encode_page(const std::vector<kstat_t>& headers, bool more);

struct DecodedPage {
    std::vector<kstat_t> headers;  // ks_kid ascending, all above `after`
    bool more;
};
std::optional<DecodedPage> decode_page(Bytes body, kid_t after);

/// The head of a kstat's data, from the header that the kstat had when its data was copied.
DataHead data_head(const kstat_t& header);

/// True if `head` describes `data_size` bytes in the form of its type.
bool is_well_formed(const DataHead& head, size_t data_size);

/// For sending: turns pointers into `data` into offsets. A pointer to elsewhere becomes null; the
/// result is false if there was one.
bool pointers_to_offsets(std::span<std::byte> data, uint_t ndata);

/// For receiving: turns offsets into pointers into `data`, and ends strings and names with a NUL.
/// False: an offset lies outside of the string area.
bool offsets_to_pointers(std::span<std::byte> data, uint_t ndata);

/// Adjusts the pointers of a copied data section: a pointer into `from` then points at the same
/// place in `to`. Pointers to elsewhere are unchanged.
void rebase_pointers(std::span<std::byte> to, const void* from, uint_t ndata);

}  // namespace blkscope::kstat::wire
