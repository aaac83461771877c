// A reply of the server: a status, a type and a body that several clients may share.
//
// Units:     bytes. Ownership: the body is shared and never changes.
// Threads:   any. Errors: none.
// Source:    RFC 9110; the Fetch standard for the fields about origins.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace blkscope::web {

using Body = std::shared_ptr<const std::string>;

struct Response {
    int status = 200;
    std::string type = "text/plain; charset=utf-8";
    Body body = std::make_shared<const std::string>();
    bool is_stream = false;  // events follow, for as long as the client is connected
    std::string tag = {};    // an entity tag with its quotes; empty: the reply is of this moment
};

[[nodiscard]] Response text_response(int status, std::string_view text);

/// The head, with the empty line at its end. No field allows another origin to read the reply.
[[nodiscard]] std::string head_of(const Response& response, bool keep_alive);

[[nodiscard]] std::string_view reason_of(int status);

}  // namespace blkscope::web
