#include "kstat/wire/kstat2.hpp"

#include <cassert>
#include <string>
#include <type_traits>

namespace blkscope::kstat2::wire {
namespace {

using kstat::wire::bytes_of;
using kstat::wire::take;
using Buffer = std::vector<std::byte>;

void append(Buffer& out, Bytes bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
}

template <class T>
void append_head(Buffer& out, const T& head) {
    append(out, bytes_of(head));
}

void append_text(Buffer& out, std::string_view text) {
    append(out, std::as_bytes(std::span(text)));
}

uint16_t length_of(std::string_view text) {
    assert(text.size() <= text_size_max);
    return static_cast<uint16_t>(text.size());
}

std::optional<std::string> take_bytes(Bytes& bytes, size_t length) {
    if (bytes.size() < length) return std::nullopt;
    std::string text(length, '\0');
    if (length > 0) std::memcpy(text.data(), bytes.data(), length);
    bytes = bytes.subspan(length);
    return text;
}

// Takes a name or a description. Both are C strings at both ends, so a NUL inside is invalid.
bool take_text(Bytes& bytes, size_t length, std::string& text) {
    auto taken = take_bytes(bytes, length);
    if (!taken || taken->find('\0') != std::string::npos) return false;
    text = std::move(*taken);
    return true;
}

// ---- Maps ----

void append_field(Buffer& out, const Field& field) {
    FieldHead head{};
    head.scale = field.md.scale;
    head.name_length = length_of(field.name);
    head.descr_length = length_of(field.md.descr);
    head.md_type = field.md.type;
    head.md_flags = field.md.flags;
    head.type = field.type;
    head.v1_data_type = field.md.v1_data_type;
    append_head(out, head);
    append_text(out, field.name);
    append_text(out, field.md.descr);
}

void append_map(Buffer& out, const Map& map) {
    MapHead head{};
    head.crtime = map.crtime;
    head.kid = map.kid;
    head.flags = map.flags;
    head.metaflags = map.metaflags;
    head.fields = static_cast<uint32_t>(map.fields.size());
    head.metatype = map.metatype;
    head.path_length = length_of(map.path);
    head.desc_length = length_of(map.desc);
    append_head(out, head);
    append_text(out, map.path);
    append_text(out, map.desc);
    for (const Field& field : map.fields) append_field(out, field);
}

bool is_value_type(uint8_t type) {
    return type >= KSTAT2_NVVT_INT && type <= KSTAT2_NVVT_STRS;
}

bool is_path(std::string_view path) {
    return path.size() >= 2 && path.size() < KSTAT2_PATHLEN && path.front() == '/' &&
           path.back() != '/' && path.find("//") == std::string_view::npos;
}

std::optional<Field> take_field(Bytes& bytes) {
    const auto head = take<FieldHead>(bytes);
    if (!head || !is_value_type(head->type)) return std::nullopt;
    if (head->name_length == 0 || head->scale == 0) return std::nullopt;
    Field field;
    field.type = head->type;
    field.md.type = head->md_type;
    field.md.flags = head->md_flags;
    field.md.scale = head->scale;
    field.md.v1_data_type = head->v1_data_type;
    if (!take_text(bytes, head->name_length, field.name)) return std::nullopt;
    if (!take_text(bytes, head->descr_length, field.md.descr)) return std::nullopt;
    return field;
}

std::optional<Map> take_map(Bytes& bytes) {
    const auto head = take<MapHead>(bytes);
    if (!head || head->fields > fields_max) return std::nullopt;
    Map map;
    map.kid = head->kid;
    map.crtime = head->crtime;
    map.metatype = head->metatype;
    map.metaflags = head->metaflags;
    map.flags = head->flags;
    if (!take_text(bytes, head->path_length, map.path) || !is_path(map.path)) return std::nullopt;
    if (!take_text(bytes, head->desc_length, map.desc)) return std::nullopt;
    for (uint32_t i = 0; i < head->fields; ++i) {
        auto field = take_field(bytes);
        if (!field) return std::nullopt;
        map.fields.push_back(std::move(*field));
    }
    return map;
}

// ---- Values ----

size_t size_of(const Value& value) {
    return sizeof(ValueHead) +
           std::visit(
               [](const auto& data) -> size_t {
                   using T = std::decay_t<decltype(data)>;
                   if constexpr (std::is_same_v<T, uint64_t>) {
                       return sizeof data;
                   } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
                       size_t size = 0;
                       for (const auto& text : data) size += sizeof(uint32_t) + text.size();
                       return size;
                   } else {
                       return data.size() * sizeof data[0];
                   }
               },
               value.data);
}

size_t strings_in(const Value& value) {
    const auto* const texts = std::get_if<std::vector<std::string>>(&value.data);
    return texts == nullptr ? 0 : texts->size();
}

uint32_t count_of(const Value& value) {
    return std::visit(
        [](const auto& data) -> uint32_t {
            if constexpr (std::is_same_v<std::decay_t<decltype(data)>, uint64_t>) {
                return 1;
            } else {
                return static_cast<uint32_t>(data.size());
            }
        },
        value.data);
}

void append_data(Buffer& out, uint64_t integer) {
    append_head(out, integer);
}
void append_data(Buffer& out, const std::vector<uint64_t>& integers) {
    append(out, std::as_bytes(std::span(integers)));
}
void append_data(Buffer& out, const std::string& text) {
    append_text(out, text);
}
void append_data(Buffer& out, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
        append_head(out, static_cast<uint32_t>(text.size()));
        append_text(out, text);
    }
}

std::optional<std::vector<uint64_t>> take_integers(Bytes& bytes, uint32_t count) {
    if (bytes.size() / sizeof(uint64_t) < count) return std::nullopt;
    std::vector<uint64_t> integers(count);
    if (count > 0) std::memcpy(integers.data(), bytes.data(), count * sizeof(uint64_t));
    bytes = bytes.subspan(count * sizeof(uint64_t));
    return integers;
}

std::optional<std::vector<std::string>> take_texts(Bytes& bytes, uint32_t count,
                                                   uint32_t& allowance) {
    if (count > allowance) return std::nullopt;
    allowance -= count;
    std::vector<std::string> texts;
    for (uint32_t i = 0; i < count; ++i) {
        const auto length = take<uint32_t>(bytes);
        auto text = length ? take_bytes(bytes, *length) : std::nullopt;
        if (!text) return std::nullopt;
        texts.push_back(std::move(*text));
    }
    return texts;
}

template <class T>
bool put(Value& value, std::optional<T> data) {
    if (!data) return false;
    value.data = std::move(*data);
    return true;
}

bool take_value(Bytes& bytes, Value& value, uint32_t& strings_left) {
    const auto head = take<ValueHead>(bytes);
    if (!head) return false;
    value.flags = head->flags;
    switch (head->type) {
        case KSTAT2_NVVT_INT:
            return head->count == 1 && put(value, take<uint64_t>(bytes));
        case KSTAT2_NVVT_INTS:
            return put(value, take_integers(bytes, head->count));
        case KSTAT2_NVVT_STR:
            return put(value, take_bytes(bytes, head->count));
        case KSTAT2_NVVT_STRS:
            return put(value, take_texts(bytes, head->count, strings_left));
        default:
            return false;
    }
}

std::optional<Optional> take_optional(Bytes& bytes) {
    const auto head = take<OptionalHead>(bytes);
    if (!head || head->is_on > 1 || head->is_on_by_default > 1) return std::nullopt;
    if (head->name_length == 0 || head->name_length >= KSTAT2_OPT_NAMELEN) return std::nullopt;
    Optional optional;
    optional.id = head->id;
    optional.is_on = head->is_on == 1;
    optional.is_on_by_default = head->is_on_by_default == 1;
    if (!take_text(bytes, head->name_length, optional.name)) return std::nullopt;
    if (!take_text(bytes, head->desc_length, optional.desc)) return std::nullopt;
    return optional;
}

}  // namespace

size_t encoded_size(const Map& map) {
    size_t size = sizeof(MapHead) + map.path.size() + map.desc.size();
    for (const Field& field : map.fields) {
        size += sizeof(FieldHead) + field.name.size() + field.md.descr.size();
    }
    return size;
}

std::vector<std::byte> encode_generation(uint64_t generation) {
    Buffer out;
    append_head(out, generation);
    return out;
}

std::vector<std::byte> encode_page(uint64_t generation, const std::vector<Map>& maps, bool more) {
    Buffer out;
    append_head(out, Page{generation, static_cast<uint32_t>(maps.size()), more ? 1U : 0U});
    for (const Map& map : maps) append_map(out, map);
    return out;
}

std::optional<std::vector<std::byte>> encode_values(const Values& values) {
    size_t size = sizeof(ValuesHead);
    size_t strings = 0;
    for (const Value& value : values.values) {
        size += size_of(value);
        strings += strings_in(value);
    }
    if (size > values_size_max || strings > strings_max) return std::nullopt;
    Buffer out;
    out.reserve(size);
    append_head(out, ValuesHead{values.snaptime, values.kid, values.flags, values.error,
                                static_cast<uint32_t>(values.values.size())});
    for (const Value& value : values.values) {
        append_head(out, ValueHead{count_of(value), value.flags, value.type(), 0});
        std::visit([&out](const auto& data) { append_data(out, data); }, value.data);
    }
    return out;
}

std::vector<std::byte> encode_optionals(const std::vector<Optional>& optionals) {
    Buffer out;
    append_head(out, OptionalsHead{static_cast<uint32_t>(optionals.size()), 0});
    for (const Optional& optional : optionals) {
        OptionalHead head{};
        head.id = optional.id;
        head.name_length = length_of(optional.name);
        head.desc_length = length_of(optional.desc);
        head.is_on_by_default = optional.is_on_by_default ? 1 : 0;
        head.is_on = optional.is_on ? 1 : 0;
        append_head(out, head);
        append_text(out, optional.name);
        append_text(out, optional.desc);
    }
    return out;
}

std::optional<uint64_t> decode_generation(Bytes body) {
    const auto generation = take<uint64_t>(body);
    return body.empty() ? generation : std::nullopt;
}

std::optional<DecodedPage> decode_page(Bytes body, kid_t after) {
    if (body.size() > sizeof(Page) + page_size_max) return std::nullopt;
    const auto page = take<Page>(body);
    if (!page || page->more > 1) return std::nullopt;
    if (page->more == 1 && page->count == 0) return std::nullopt;  // else an endless loop
    DecodedPage decoded{page->generation, {}, page->more == 1};
    for (uint32_t i = 0; i < page->count; ++i) {
        auto map = take_map(body);
        if (!map || map->kid <= after) return std::nullopt;
        after = map->kid;
        decoded.maps.push_back(std::move(*map));
    }
    if (!body.empty()) return std::nullopt;
    return decoded;
}

std::optional<Values> decode_values(Bytes body) {
    const auto head = take<ValuesHead>(body);
    if (!head || head->values > fields_max) return std::nullopt;
    uint32_t strings_left = strings_max;
    Values decoded{head->kid, head->snaptime, head->flags, head->error, {}};
    for (uint32_t i = 0; i < head->values; ++i) {
        if (!take_value(body, decoded.values.emplace_back(), strings_left)) return std::nullopt;
    }
    if (!body.empty()) return std::nullopt;
    return decoded;
}

std::optional<std::vector<Optional>> decode_optionals(Bytes body) {
    const auto head = take<OptionalsHead>(body);
    if (!head || head->count > optionals_max) return std::nullopt;
    std::vector<Optional> optionals;
    for (uint32_t i = 0; i < head->count; ++i) {
        auto optional = take_optional(body);
        if (!optional) return std::nullopt;
        optionals.push_back(std::move(*optional));
    }
    if (!body.empty()) return std::nullopt;
    return optionals;
}

std::optional<SetOptional> decode_set_optional(Bytes body) {
    const auto request = take<SetOptional>(body);
    if (!request || !body.empty()) return std::nullopt;
    if (request->wanted > static_cast<uint32_t>(Switch::by_default)) return std::nullopt;
    return request;
}

}  // namespace blkscope::kstat2::wire
