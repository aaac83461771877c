// What is asked and answered about kstats of the second kind, on the same socket, with the same
// heads and after the same hello as everything else (kstat/wire/message.hpp):
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
// The list comes in pages, by kid. A reader keeps the list until the generation is another one, and
// then fetches it anew; pages of two generations are of two lists. The generation is that of what
// this reader may see: changes to what is hidden from it do not show. A kid is never used again by
// its process. Which process answers is told in the Welcome, as for the other operations.
//
// Texts travel without a NUL behind a length in their head. The data of a value:
//
//     INT    8 bytes             (count is 1)
//     INTS   count times 8 bytes
//     STR    count bytes
//     STRS   count times: a uint32_t length, and as many bytes
//
// Errors in a ReplyHead: EINVAL, also from a provider that knows nothing of these operations (a
// reader takes that for "no kstats of this kind here"); ENXIO no such kstat, or none that this
// reader may see; EFBIG its values are beyond the limits below; EPERM and what the callback
// returned, from kstat2_optional_set; ENOENT no such optional statistics.
//
// Ownership: nothing here keeps what it is given.
// Errors:    a decoder returns nothing for bytes that no peer of ours sends; the connection is then
//            useless.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "kstat/wire/message.hpp"
#include "kstat/wire/model.hpp"

namespace blkscope::kstat2::wire {

using kstat::wire::Bytes;

/// Bytes of one kstat's values, in a reply.
inline constexpr uint32_t values_size_max = 64U << 20;
/// Bytes of one kstat's description, in a page.
inline constexpr uint32_t map_size_max = 1U << 20;
/// A page is full when it has reached this; the last map of it may go beyond.
inline constexpr uint32_t page_size = 256U << 10;
inline constexpr uint32_t page_size_max = page_size + map_size_max;
inline constexpr uint32_t fields_max = 16384;
inline constexpr uint32_t text_size_max = 65534;  // a uint16_t counts the NUL, elsewhere
/// Strings in all arrays of strings of one kstat: what a reader can be made to allocate.
inline constexpr uint32_t strings_max = 1U << 20;
inline constexpr uint32_t optionals_max = 1024;

struct ListFrom {
    int32_t after_kid;
    uint32_t reserved;
};

struct Page {
    uint64_t generation;  // that of the list that this page belongs to
    uint32_t count;       // maps that follow
    uint32_t more;        // 1 if another page follows this one's last kid
};

struct MapHead {
    int64_t crtime;
    int32_t kid;
    uint32_t flags;      // KSTAT2_MAPF_
    uint32_t metaflags;  // KSTAT2_MF_
    uint32_t fields;     // that follow
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
    uint32_t values;  // that follow
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

/// The body of each reply. `maps` are within the limits above: the framework sees to it.
std::vector<std::byte> encode_generation(uint64_t generation);
std::vector<std::byte> encode_page(uint64_t generation, const std::vector<Map>& maps, bool more);
/// Nothing if they are beyond values_size_max or strings_max.
std::optional<std::vector<std::byte>> encode_values(const Values& values);
std::vector<std::byte> encode_optionals(const std::vector<Optional>& optionals);

std::optional<uint64_t> decode_generation(Bytes body);

struct DecodedPage {
    uint64_t generation;
    std::vector<Map> maps;  // kids ascending, all above the one asked from
    bool more;
};
/// Paths begin with a slash and have no empty segment; fields have names, known types and a scale.
std::optional<DecodedPage> decode_page(Bytes body, kid_t after);

/// The reader compares number and types with the map's: they differ if the kid is of a map
/// that it does not know well.
std::optional<Values> decode_values(Bytes body);
std::optional<std::vector<Optional>> decode_optionals(Bytes body);

/// A request's body, for Op::kstat2_optional_set; the other way for the provider.
std::optional<SetOptional> decode_set_optional(Bytes body);

}  // namespace blkscope::kstat2::wire
