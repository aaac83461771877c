#include "tools/web/response.hpp"

#include <fmt/format.h>

namespace blkscope::web {

std::string_view reason_of(int status) {
    switch (status) {
        case 200:
            return "OK";
        case 304:
            return "Not Modified";
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 408:
            return "Request Timeout";
        case 413:
            return "Content Too Large";
        case 414:
            return "URI Too Long";
        case 431:
            return "Request Header Fields Too Large";
        case 503:
            return "Service Unavailable";
        case 505:
            return "HTTP Version Not Supported";
        default:
            return "Internal Server Error";
    }
}

Response text_response(int status, std::string_view text) {
    return {.status = status, .body = std::make_shared<const std::string>(text)};
}

std::string head_of(const Response& response, bool keep_alive) {
    std::string head =
        fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_of(response.status));
    head += fmt::format("Content-Type: {}\r\n", response.type);
    // The length of a reply without a body would be that of the body.
    const bool has_length = !response.is_stream && response.status != 304;
    if (has_length) head += fmt::format("Content-Length: {}\r\n", response.body->size());
    if (response.status == 401) head += "WWW-Authenticate: Bearer realm=\"blkscope\"\r\n";
    if (response.status == 405) head += "Allow: GET, HEAD\r\n";
    if (response.status == 503) head += "Retry-After: 1\r\n";
    head += response.tag.empty()
                ? "Cache-Control: no-store\r\n"
                : fmt::format("Cache-Control: no-cache\r\nETag: {}\r\n", response.tag);
    head +=
        "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
        "connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'\r\n"
        "Cross-Origin-Resource-Policy: same-origin\r\n"
        "Cross-Origin-Opener-Policy: same-origin\r\n"
        "Referrer-Policy: no-referrer\r\n"
        "X-Content-Type-Options: nosniff\r\n";
    head +=
        keep_alive && !response.is_stream ? "Connection: keep-alive\r\n" : "Connection: close\r\n";
    return head + "\r\n";
}

}  // namespace blkscope::web
