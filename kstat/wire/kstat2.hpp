// Requests and replies for kstat2. Both use the socket, the heads and the hello of the other
// operations (kstat/wire/message.hpp):
//
//     reader                                                provider
//       | -- kstat2_generation ------------------------------>  |
//       | <- uint64_t ----------------------------------------  |  changes when the list would
//       | -- kstat2_list          + ListFrom ---------------->  |
//       | <- Page + (MapHead, path, desc,                       |
//       |            (FieldHead, name, descr)...)... ----------  |
//       | -- kstat2_read          + MapId ------------------->  |
//       | <- ValuesHead + (ValueHead, its data)... ------------  |
//       | -- kstat2_optional_list ---------------------------->  |
//       | <- OptionalsHead + (OptionalHead, name, desc)... ----  |
//       | -- kstat2_optional_set  + SetOptional ------------->  |
//       | <- nothing -----------------------------------------  |
//
// The list comes in pages, by kid. A reader keeps the list until the generation changes, then
// fetches the list again. Pages of two generations belong to two lists. The generation covers only
// the kstats that this reader may see: hidden changes do not show. A process never uses a kid
// again. The Welcome identifies the process, as for the other operations.
//
// Texts travel without a NUL behind a length in their head. The data of a value:
//
//     INT    8 bytes             (count is 1)
//     INTS   count times 8 bytes
//     STR    count bytes
//     STRS   count times: a uint32_t length, and as many bytes
//
// Errors in a ReplyHead:
//
//     EINVAL   an invalid request, or the provider lacks the operation and so has no kstat2
//     ENXIO    no such kstat, or none that this reader may see
//     EFBIG    its values are beyond the limits below
//     EPERM    from kstat2_optional_set, as are the errors of the callback
//     ENOENT   no such optional statistics
//
// Ownership: nothing here keeps its arguments.
// Errors:    a decoder returns nothing for bytes that no peer of this project sends. The connection
//            is then useless.
#pragma once

#include <optional>
#include <vector>

#include "kstat/wire/message.hpp"
#include "kstat/wire/model.hpp"

namespace blkscope::kstat2::wire {

using kstat::wire::Bytes;

/// Bytes of one kstat's values, in a reply.
inline constexpr uint32_t values_size_max = 64U << 20;
/// Bytes of one kstat's description, in a page.
inline constexpr uint32_t map_size_max = 1U << 20;
/// A page is full when it has reached this size; its last map may exceed the size.
inline constexpr uint32_t page_size = 256U << 10;
inline constexpr uint32_t page_size_max = page_size + map_size_max;
inline constexpr uint32_t fields_max = 16384;
inline constexpr uint32_t text_size_max = 65534;  // elsewhere a uint16_t counts the NUL too
/// Limit of the strings in all arrays of strings of one kstat: it bounds a reader's allocation.
inline constexpr uint32_t strings_max = 1U << 20;
inline constexpr uint32_t optionals_max = 1024;

struct ListFrom {
    int32_t after_kid;
    uint32_t reserved;
};

struct Page {
    uint64_t generation;  // of the list that this page belongs to
    uint32_t count;       // maps that follow
    uint32_t more;        // 1 if another page follows this one's last kid
};

struct MapHead {
    int64_t crtime;
    int32_t kid;
    uint32_t flags;      // KSTAT2_MAPF_
    uint32_t metaflags;  // KSTAT2_MF_
    uint32_t fields;     // their number
    uint16_t metatype;   // KSTAT2_MT_
    uint16_t path_length;
    uint16_t desc_length;
    uint16_t reserved;
};

struct FieldHead {
    uint64_t scale;
    uint16_t name_length;
    uint16_t descr_length;
    uint16_t md_type;   // KSTAT2_NVMT_
    uint16_t md_flags;  // KSTAT2_NVMF_
    uint8_t type;       // KSTAT2_NVVT_
    int8_t v1_data_type;
    uint8_t reserved[6];
};

struct MapId {
    int32_t kid;
    uint32_t reserved;
};

struct ValuesHead {
    int64_t snaptime;
    int32_t kid;
    uint32_t flags;   // KSTAT2_MAPF_
    int32_t error;    // Values::error
    uint32_t values;  // their number
};

struct ValueHead {
    uint32_t count;
    uint16_t flags;  // KSTAT2_NVF_
    uint8_t type;    // KSTAT2_NVVT_
    uint8_t reserved;
};

struct OptionalsHead {
    uint32_t count;
    uint32_t reserved;
};

struct OptionalHead {
    int32_t id;
    uint16_t name_length;
    uint16_t desc_length;
    uint8_t is_on_by_default;
    uint8_t is_on;
    uint8_t reserved[6];
};

enum class Switch : uint32_t { off = 0, on = 1, by_default = 2 };

struct SetOptional {
    int32_t id;
    uint32_t wanted;  // a Switch
};

static_assert(sizeof(Page) == 16 && sizeof(MapHead) == 32 && sizeof(FieldHead) == 24 &&
              sizeof(ValuesHead) == 24 && sizeof(ValueHead) == 8 && sizeof(OptionalHead) == 16);

/// Bytes that a map takes in a page; more than map_size_max cannot be listed.
size_t encoded_size(const Map& map);

/// The body of each reply. The framework ensures that `maps` are within the limits above.
std::vector<std::byte> encode_generation(uint64_t generation);
std::vector<std::byte> encode_page(uint64_t generation, const std::vector<Map>& maps, bool more);
/// Nothing if the values are beyond values_size_max or strings_max.
std::optional<std::vector<std::byte>> encode_values(const Values& values);
std::vector<std::byte> encode_optionals(const std::vector<Optional>& optionals);

std::optional<uint64_t> decode_generation(Bytes body);

struct DecodedPage {
    uint64_t generation;
    std::vector<Map> maps;  // kids ascending, all above `after`
    bool more;
};
/// Paths begin with a slash and have no empty segment; fields have names, known types and a scale.
std::optional<DecodedPage> decode_page(Bytes body, kid_t after);

/// The reader compares the number and types with its map. A difference means that the reader's map
/// of this kid is outdated.
std::optional<Values> decode_values(Bytes body);
std::optional<std::vector<Optional>> decode_optionals(Bytes body);

/// The body of an Op::kstat2_optional_set request; the provider decodes it.
std::optional<SetOptional> decode_set_optional(Bytes body);

}  // namespace blkscope::kstat2::wire
