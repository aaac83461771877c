#include "trace/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/crc.hpp>
#include <cassert>
#include <cstring>
#include <string_view>
#include <utility>

#include "trace/record.hpp"

namespace blkscope::trace {
namespace {

constexpr std::string_view magic{
    "\x89"
    "BLKSC\r\n",
    8};
constexpr std::string_view end_magic{"\nBLKEND\n", 8};
constexpr uint32_t byte_order = 0x01020304;
constexpr uint32_t byte_order_swapped = 0x04030201;
constexpr size_t fixed_bytes = 56;
constexpr size_t crc_at = 52;
constexpr size_t end_bytes = 16;
constexpr size_t properties_bytes_max = size_t{1} << 20;

using Bytes = std::span<const std::byte>;
using Why = std::string;

uint32_t crc_of(Bytes bytes) {
    boost::crc_32_type crc;
    crc.process_bytes(bytes.data(), bytes.size());
    return crc.checksum();
}

// The CRC's own field counts as zero.
uint32_t header_crc(Bytes header) {
    constexpr std::array<std::byte, 4> none{};
    boost::crc_32_type crc;
    crc.process_bytes(header.data(), crc_at);
    crc.process_bytes(none.data(), none.size());
    crc.process_bytes(header.data() + fixed_bytes, header.size() - fixed_bytes);
    return crc.checksum();
}

bool begins_with(Bytes bytes, std::string_view text) {
    return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

// Properties are shown on terminals.
bool has_control(std::string_view text) {
    return std::ranges::any_of(text, [](char c) { return (c >= '\0' && c < ' ') || c == '\x7f'; });
}

std::string text_of(const std::map<std::string, std::string>& properties) {
    assert(may_have(properties));
    std::string text;
    for (const auto& [key, value] : properties) text += fmt::format("{}={}\n", key, value);
    assert(text.size() <= properties_bytes_max);
    return text;
}

Result<std::map<std::string, std::string>, Why> properties_of(std::string_view text) {
    std::map<std::string, std::string> properties;
    while (!text.empty()) {
        const size_t end = text.find('\n');
        const size_t equals = text.substr(0, end).find('=');
        if (end == std::string_view::npos || equals == std::string_view::npos) {
            return Why("a property is not key=value");
        }
        if (has_control(text.substr(0, end))) return Why("a property has control characters");
        const auto [place, is_new] =
            properties.emplace(text.substr(0, equals), text.substr(equals + 1, end - equals - 1));
        if (!is_new) return Why("a property is there twice");
        text.remove_prefix(end + 1);
    }
    return properties;
}

struct Header {
    size_t bytes;
    size_t record_bytes;
    uint64_t requests;
    std::string_view properties;
};

// The header, if the file has all that the header says.
Result<Header, Why> header_of(Bytes file) {
    if (!begins_with(file, magic))
        return Why("not a blkscope trace (or one that was transferred in text mode)");
    if (file.size() < fixed_bytes) return Why("cut off within its header");
    const std::byte* const at = file.data();
    const auto order = get<uint32_t>(at + 8);
    if (order == byte_order_swapped) return Why("written with another byte order");
    if (order != byte_order) return Why("damaged: its byte order is unknown");
    const auto version = get<uint32_t>(at + 12);
    if (version == 0 || version > file_version) {
        return fmt::format("has version {}, and this program reads version 1 to {}", version,
                           file_version);
    }
    const size_t record = version == 1 ? record_bytes_1 : record_bytes;
    const size_t header = get<uint32_t>(at + 16);
    const size_t properties = get<uint32_t>(at + 48);
    if (properties > properties_bytes_max || header != fixed_bytes + (properties + 7) / 8 * 8) {
        return Why("damaged: its header has an impossible size");
    }
    if (file.size() < header) return Why("cut off within its header");
    if (get<uint32_t>(at + crc_at) != header_crc(file.first(header))) {
        return Why("damaged: its header does not fit its checksum");
    }
    if (get<uint32_t>(at + 20) != record) return Why("has records of another size");
    const auto requests = get<uint64_t>(at + 24);
    const size_t rest = file.size() - header;
    if (rest < end_bytes || requests > (rest - end_bytes) / record) {
        return fmt::format("cut off: it should have {} requests", requests);
    }
    if (requests * record + end_bytes != rest) return Why("has bytes behind its end");
    return Header{
        header, record, requests, {reinterpret_cast<const char*>(at) + fixed_bytes, properties}};
}

}  // namespace

void sort_by_arrival(std::vector<Request>& requests) {
    std::stable_sort(
        requests.begin(), requests.end(),
        [](const Request& one, const Request& other) { return one.arrival() < other.arrival(); });
}

bool may_have(const std::map<std::string, std::string>& properties) {
    size_t bytes = 0;
    for (const auto& [key, value] : properties) {
        if (has_control(key) || has_control(value) || key.find('=') != std::string::npos)
            return false;
        bytes += key.size() + value.size() + 2;  // with the marks between them
    }
    return bytes <= properties_bytes_max;
}

std::string encode_file(Trace trace) {
    sort_by_arrival(trace.requests);
    const std::string properties = text_of(trace.properties);
    const size_t header = fixed_bytes + (properties.size() + 7) / 8 * 8;
    const size_t records = trace.requests.size() * record_bytes;
    std::string file(header + records + end_bytes, '\0');
    auto* const at = reinterpret_cast<std::byte*>(file.data());
    std::memcpy(at, magic.data(), magic.size());
    put(at + 8, byte_order);
    put(at + 12, file_version);
    put(at + 16, static_cast<uint32_t>(header));
    put(at + 20, static_cast<uint32_t>(record_bytes));
    put(at + 24, static_cast<uint64_t>(trace.requests.size()));
    put(at + 32, trace.lost);
    put(at + 40, trace.realtime_ns);
    put(at + 48, static_cast<uint32_t>(properties.size()));
    std::memcpy(at + fixed_bytes, properties.data(), properties.size());
    put(at + crc_at, header_crc({at, header}));
    std::byte* to = at + header;
    for (const Request& request : trace.requests) {
        encode(request, std::span<std::byte, record_bytes>(to, record_bytes));
        to += record_bytes;
    }
    std::memcpy(to, end_magic.data(), end_magic.size());
    put(to + 8, crc_of({at + header, records}));
    return file;
}

bool is_our_file(std::span<const std::byte> file) {
    return begins_with(file, magic);
}

Result<Trace, std::string> decode_file(std::span<const std::byte> file) {
    const auto header = header_of(file);
    if (!header) return header.error();
    auto properties = properties_of(header->properties);
    if (!properties) return properties.error();
    const size_t record = header->record_bytes;
    const Bytes records = file.subspan(header->bytes, header->requests * record);
    const Bytes end = file.last(end_bytes);
    if (!begins_with(end, end_magic)) return Why("damaged: its end is not there");
    if (get<uint64_t>(end.data() + 8) != crc_of(records)) {
        return Why("damaged: its requests do not fit their checksum");
    }
    Trace trace{.properties = std::move(*properties),
                .lost = get<uint64_t>(file.data() + 32),
                .realtime_ns = get<int64_t>(file.data() + 40),
                .requests = {}};
    trace.requests.reserve(header->requests);
    for (size_t i = 0; i < header->requests; ++i) {
        std::array<std::byte, record_bytes> whole{};
        std::ranges::copy(records.subspan(i * record, record), whole.begin());
        auto request = decode(whole);
        if (!request) return fmt::format("request {}: {}", i + 1, request.error());
        const bool sorted =
            trace.requests.empty() || trace.requests.back().arrival() <= request->arrival();
        if (!sorted) return fmt::format("request {}: it arrived before the one before it", i + 1);
        trace.requests.push_back(*request);
    }
    return trace;
}

}  // namespace blkscope::trace
