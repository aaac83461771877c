// The head of an HTTP request: bytes in, a request or a refusal out. A pure parser.
//
//     GET /metrics?device=nbd* HTTP/1.1\r\n
//     Host: localhost:9410\r\n
//     \r\n
//     ▲                        ▲
//     parse_request() reads up to the empty line and says how many bytes that is
//
// Only GET and HEAD exist, and a request has no body. A text with two readings is how requests are
// smuggled. So the parser refuses a bare line feed, a folded line and two Hosts. Any
// Transfer-Encoding and any Content-Length but 0 are refused, too.
//
// Units:   bytes. Ownership: a Request owns its texts.
// Threads: any. Errors: a status of 400 and above in the result.
// Source:  RFC 9112 (HTTP/1.1), RFC 9110.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace blkscope::web {

inline constexpr size_t head_bytes_max = 8192;
inline constexpr size_t fields_max = 64;
inline constexpr size_t target_bytes_max = 2048;

struct Request {
    bool is_head = false;  // HEAD: the reply has no body
    bool is_old = false;   // HTTP/1.0: without a Host, perhaps
    bool keep_alive = true;
    std::string path;                                        // decoded
    std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
    std::string host;  // as it was sent, with its port; may be empty. A target's host counts first
    std::string accept;
    std::string authorization;
    std::string origin;
    std::string fetch_site;  // Sec-Fetch-Site, which browsers send
    std::string fetch_mode;
    std::string if_none_match;

    /// The value of the query's first member of that name.
    [[nodiscard]] std::optional<std::string> parameter(std::string_view name) const;
};

struct ParsedRequest {
    int status = 0;    // 0: incomplete, 200: `request` is whole, else why it is refused
    size_t bytes = 0;  // length of the head, if it is whole
    Request request;
};

/// Parses the first request in `received`. Later calls get the same bytes and more.
[[nodiscard]] ParsedRequest parse_request(std::string_view received);

/// The text with the letters of ASCII in lower case: names and some values have no case.
[[nodiscard]] std::string in_lower_case(std::string_view text);

}  // namespace blkscope::web
