// The NBD protocol's numbers, and functions that read and write its headers.
//
//     handshake      S: init magic, option magic, flags     C: flags
//                    C: option header (16), data            S: option reply header (20), data
//     transmission   C: request (28), data if a write       S: reply (16), data if a read
//       structured                                          S: or chunks (20), their payload
//       extended     C: request (32), payload if flagged    S: chunks (32), their payload
//
// Everything is big-endian. A client can send any number, so a scoped enumeration here may have a
// value without a name. Code after a switch handles such values.
//
// Units:     bytes.
// Ownership: spans are borrowed for the call.
// Threads:   pure functions.
// Errors:    as each function says; nothing throws, nothing allocates.
// Source:    the NBD protocol document, "Values" and "Transmission phase".
#pragma once

#include <array>
#include <cassert>
#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/result.hpp"

namespace blkscope::nbd {

inline constexpr uint16_t tcp_port = 10809;

// The first bytes of a header. After a wrong magic the start of the next header is unknown.
inline constexpr uint64_t init_magic = 0x4e42444d41474943;    // "NBDMAGIC"
inline constexpr uint64_t option_magic = 0x49484156454f5054;  // "IHAVEOPT"
inline constexpr uint64_t option_reply_magic = 0x0003e889045565a9;
inline constexpr uint32_t request_magic = 0x25609513;
inline constexpr uint32_t extended_request_magic = 0x21e41c71;
inline constexpr uint32_t simple_reply_magic = 0x67446698;
inline constexpr uint32_t structured_reply_magic = 0x668e33ef;
inline constexpr uint32_t extended_reply_magic = 0x6e8a278c;

inline constexpr size_t greeting_bytes = 18;
inline constexpr size_t client_flags_bytes = 4;
inline constexpr size_t option_header_bytes = 16;
inline constexpr size_t option_reply_header_bytes = 20;
inline constexpr size_t request_bytes = 28;
inline constexpr size_t extended_request_bytes = 32;
inline constexpr size_t simple_reply_bytes = 16;
inline constexpr size_t structured_reply_bytes = 20;
inline constexpr size_t extended_reply_bytes = 32;
/// Zeroes after the size and flags in the answer to export_name, unless the client refuses them.
inline constexpr size_t export_name_zeroes = 124;
/// Limit of every string in the protocol: names, descriptions, error texts.
inline constexpr size_t string_bytes_max = 4096;

/// The server's flags in its greeting.
namespace handshake_flag {
inline constexpr uint16_t fixed_newstyle = 1 << 0;
inline constexpr uint16_t no_zeroes = 1 << 1;
}  // namespace handshake_flag

/// The client's flags in reply.
namespace client_flag {
inline constexpr uint32_t fixed_newstyle = 1 << 0;
inline constexpr uint32_t no_zeroes = 1 << 1;
}  // namespace client_flag

enum class Option : uint32_t {
    export_name = 1,
    abort = 2,
    list = 3,
    peek_export = 4,  // withdrawn from the protocol
    starttls = 5,
    info = 6,
    go = 7,
    structured_reply = 8,
    list_meta_context = 9,
    set_meta_context = 10,
    extended_headers = 11,
};

/// The type of an option reply. Errors have the top bit set.
enum class OptionReply : uint32_t {
    ack = 1,
    server = 2,
    info = 3,
    meta_context = 4,
    err_unsup = 0x8000'0001,
    err_policy = 0x8000'0002,
    err_invalid = 0x8000'0003,
    err_platform = 0x8000'0004,
    err_tls_reqd = 0x8000'0005,
    err_unknown = 0x8000'0006,
    err_shutdown = 0x8000'0007,
    err_block_size_reqd = 0x8000'0008,
    err_too_big = 0x8000'0009,
    err_ext_header_reqd = 0x8000'000a,
};

enum class Info : uint16_t {
    exp = 0,  // NBD_INFO_EXPORT: `export` is a keyword
    name = 1,
    description = 2,
    block_size = 3,
};

/// The abilities of an export, sent before transmission begins.
namespace transmission_flag {
inline constexpr uint16_t has_flags = 1 << 0;  // always
inline constexpr uint16_t read_only = 1 << 1;
inline constexpr uint16_t send_flush = 1 << 2;
inline constexpr uint16_t send_fua = 1 << 3;
inline constexpr uint16_t rotational = 1 << 4;
inline constexpr uint16_t send_trim = 1 << 5;
inline constexpr uint16_t send_write_zeroes = 1 << 6;
inline constexpr uint16_t send_df = 1 << 7;  // only once structured replies are negotiated
inline constexpr uint16_t can_multi_conn = 1 << 8;
inline constexpr uint16_t send_resize = 1 << 9;
inline constexpr uint16_t send_cache = 1 << 10;
inline constexpr uint16_t send_fast_zero = 1 << 11;  // never without send_write_zeroes
inline constexpr uint16_t block_status_payload = 1 << 12;
}  // namespace transmission_flag

/// The commands of the transmission phase. A client may send any other number, too.
///
/// A new command needs, in driver/nbd/transmission:
///   - a case in op_of(), which may need a new Buf::Op, and then a place in op_commands;
///   - a case in RequestRules::refusal_of_range() and RequestRules::allowed_flags();
///   - a look at writes(), data_bytes() and payload_bytes(), which name single commands;
///   - a reply, if it is more than an error number: encode_reply();
///   - the flag that offers it: nbd/server/export.cpp, <blkscope/geometry.h>.
/// The compiler reports a missing case of the first two. List the command in docs/design.md too.
enum class Command : uint16_t {
    read = 0,
    write = 1,
    disc = 2,
    flush = 3,
    trim = 4,
    cache = 5,
    write_zeroes = 6,
    block_status = 7,
    resize = 8,
};

/// The command of each operation, in the order of Buf::Op and trace::Op.
inline constexpr std::array op_commands{Command::read,        Command::write,        Command::flush,
                                        Command::trim,        Command::write_zeroes, Command::cache,
                                        Command::block_status};

/// Flags of one request.
namespace command_flag {
inline constexpr uint16_t fua = 1 << 0;
inline constexpr uint16_t no_hole = 1 << 1;
inline constexpr uint16_t df = 1 << 2;
inline constexpr uint16_t req_one = 1 << 3;
inline constexpr uint16_t fast_zero = 1 << 4;
inline constexpr uint16_t payload_len = 1 << 5;
}  // namespace command_flag

/// The form of a connection's replies, as negotiated.
enum class ReplyForm : uint8_t {
    simple,      // one header and, for a read, its data
    structured,  // reads and block status as chunks, the rest simple
    extended,    // all replies as chunks with 64-bit lengths; requests are extended, too
};

/// The type of a chunk. Errors have the top bit set.
enum class Chunk : uint16_t {
    none = 0,
    offset_data = 1,
    offset_hole = 2,
    block_status = 5,
    block_status_ext = 6,
    error = 0x8001,
    error_offset = 0x8002,
};

/// Flags of one chunk.
namespace chunk_flag {
inline constexpr uint16_t done = 1 << 0;  // the last of its request
}  // namespace chunk_flag

/// Flags of an extent in the metadata context base:allocation.
namespace allocation_flag {
inline constexpr uint32_t hole = 1 << 0;
inline constexpr uint32_t zero = 1 << 1;
}  // namespace allocation_flag

/// The one metadata context that is offered, and its id in chunks.
inline constexpr std::string_view base_allocation = "base:allocation";
inline constexpr uint32_t base_allocation_id = 1;

/// The only error numbers that a reply may have.
enum class Error : uint32_t {
    none = 0,
    eperm = 1,
    eio = 5,
    enomem = 12,
    einval = 22,
    enospc = 28,
    eoverflow = 75,
    enotsup = 95,
    eshutdown = 108,
};

namespace detail {

template <std::unsigned_integral T, size_t... I>
constexpr T load_be(std::span<const std::byte, sizeof(T)> from, std::index_sequence<I...>) {
    // The sum has 64 bits, because a shifted u16 would become a signed int.
    return static_cast<T>(
        (... | (std::to_integer<uint64_t>(from[I]) << (8 * (sizeof(T) - 1 - I)))));
}

template <std::unsigned_integral T, size_t... I>
constexpr void store_be(std::span<std::byte, sizeof(T)> to, T value, std::index_sequence<I...>) {
    (..., (to[I] = static_cast<std::byte>(value >> (8 * (sizeof(T) - 1 - I)))));
}

}  // namespace detail

/// Shifts are right for any alignment and byte order, and usable in a constant expression.
/// Compilers turn them into one load and a byte swap.
template <std::unsigned_integral T>
constexpr T load_be(std::span<const std::byte, sizeof(T)> from) {
    return detail::load_be<T>(from, std::make_index_sequence<sizeof(T)>{});
}

/// The number at an offset of a message whose size was checked.
template <std::unsigned_integral T>
constexpr T load_be(std::span<const std::byte> from, size_t at) {
    return load_be<T>(from.subspan(at).first<sizeof(T)>());
}

template <std::unsigned_integral T>
constexpr void store_be(std::span<std::byte, sizeof(T)> to, T value) {
    detail::store_be<T>(to, value, std::make_index_sequence<sizeof(T)>{});
}

/// A client's request; only the magic has been checked.
///
/// The cookie is the client's own eight bytes and is copied to the reply.
struct Request {
    uint16_t flags = 0;
    Command type = Command::read;
    uint64_t cookie = 0;
    uint64_t offset = 0;
    uint64_t length = 0;  // of the range, or of the payload with payload_len

    friend bool operator==(const Request&, const Request&) = default;
};

/// Reads a request's header; a write's data follows it in the stream.
///
/// Errors: protocol_error after a wrong magic. The start of the next header is then unknown, so the
///         connection closes.
[[nodiscard]] constexpr Result<Request, std::errc> parse_request(
    std::span<const std::byte, request_bytes> from) {
    if (load_be<uint32_t>(from.subspan<0, 4>()) != request_magic) return std::errc::protocol_error;
    return Request{.flags = load_be<uint16_t>(from.subspan<4, 2>()),
                   .type = Command{load_be<uint16_t>(from.subspan<6, 2>())},
                   .cookie = load_be<uint64_t>(from.subspan<8, 8>()),
                   .offset = load_be<uint64_t>(from.subspan<16, 8>()),
                   .length = load_be<uint32_t>(from.subspan<24, 4>())};
}

/// The same for a client that has negotiated extended headers.
[[nodiscard]] constexpr Result<Request, std::errc> parse_extended_request(
    std::span<const std::byte, extended_request_bytes> from) {
    if (load_be<uint32_t>(from.subspan<0, 4>()) != extended_request_magic)
        return std::errc::protocol_error;
    return Request{.flags = load_be<uint16_t>(from.subspan<4, 2>()),
                   .type = Command{load_be<uint16_t>(from.subspan<6, 2>())},
                   .cookie = load_be<uint64_t>(from.subspan<8, 8>()),
                   .offset = load_be<uint64_t>(from.subspan<16, 8>()),
                   .length = load_be<uint64_t>(from.subspan<24, 8>())};
}

/// Writes a request's header, as a client. A write's data follows it in the stream.
constexpr void encode_request(std::span<std::byte, request_bytes> to, const Request& request) {
    assert(request.length <= UINT32_MAX);
    store_be(to.subspan<0, 4>(), request_magic);
    store_be(to.subspan<4, 2>(), request.flags);
    store_be(to.subspan<6, 2>(), static_cast<uint16_t>(request.type));
    store_be(to.subspan<8, 8>(), request.cookie);
    store_be(to.subspan<16, 8>(), request.offset);
    store_be(to.subspan<24, 4>(), static_cast<uint32_t>(request.length));
}

/// The same for a connection with extended headers.
constexpr void encode_extended_request(std::span<std::byte, extended_request_bytes> to,
                                       const Request& request) {
    store_be(to.subspan<0, 4>(), extended_request_magic);
    store_be(to.subspan<4, 2>(), request.flags);
    store_be(to.subspan<6, 2>(), static_cast<uint16_t>(request.type));
    store_be(to.subspan<8, 8>(), request.cookie);
    store_be(to.subspan<16, 8>(), request.offset);
    store_be(to.subspan<24, 8>(), request.length);
}

/// Writes a simple reply's header. A read's data follows it if `error` is none.
constexpr void encode_simple_reply(std::span<std::byte, simple_reply_bytes> to, Error error,
                                   uint64_t cookie) {
    store_be(to.subspan<0, 4>(), simple_reply_magic);
    store_be(to.subspan<4, 4>(), static_cast<uint32_t>(error));
    store_be(to.subspan<8, 8>(), cookie);
}

/// The header of a chunk, as both forms have it.
///
/// Units: bytes of the payload that follows the header, below 4 GiB without extended headers.
struct ChunkHead {
    uint16_t flags;
    Chunk type;
    uint64_t cookie;
    uint64_t bytes;
};

/// Writes a chunk's header.
constexpr void encode_structured_chunk(std::span<std::byte, structured_reply_bytes> to,
                                       const ChunkHead& head) {
    assert(head.bytes <= UINT32_MAX);
    store_be(to.subspan<0, 4>(), structured_reply_magic);
    store_be(to.subspan<4, 2>(), head.flags);
    store_be(to.subspan<6, 2>(), static_cast<uint16_t>(head.type));
    store_be(to.subspan<8, 8>(), head.cookie);
    store_be(to.subspan<16, 4>(), static_cast<uint32_t>(head.bytes));
}

/// The same for a client with extended headers; `offset` is the request's.
constexpr void encode_extended_chunk(std::span<std::byte, extended_reply_bytes> to,
                                     const ChunkHead& head, uint64_t offset) {
    store_be(to.subspan<0, 4>(), extended_reply_magic);
    store_be(to.subspan<4, 2>(), head.flags);
    store_be(to.subspan<6, 2>(), static_cast<uint16_t>(head.type));
    store_be(to.subspan<8, 8>(), head.cookie);
    store_be(to.subspan<16, 8>(), offset);
    store_be(to.subspan<24, 8>(), head.bytes);
}

/// The error number to send for an errno of ours; 0 is success.
///
/// An errno without a case becomes EIO, because the backing failed. EINVAL is only for errors that
/// the request itself caused.
///
/// EOPNOTSUPP becomes ENOTSUP, which only a write_zeroes with fast_zero may get. For other requests
/// the backing must resolve EOPNOTSUPP first, by writing the zeroes.
[[nodiscard]] constexpr Error wire_error(int error_number) {
    switch (error_number) {
        case 0:
            return Error::none;
        case EPERM:
        case EACCES:
        case EROFS:
            return Error::eperm;
        case EIO:
            return Error::eio;
        case ENOMEM:
            return Error::enomem;
        case EINVAL:
        case EDOM:
        case ERANGE:
        case E2BIG:
            return Error::einval;
        case ENOSPC:
        case EDQUOT:
        case EFBIG:
            return Error::enospc;
        case EOVERFLOW:
            return Error::eoverflow;
        case EOPNOTSUPP:  // Linux: the same number as ENOTSUP
            return Error::enotsup;
        case ESHUTDOWN:
            return Error::eshutdown;
        default:
            return Error::eio;
    }
}

}  // namespace blkscope::nbd
