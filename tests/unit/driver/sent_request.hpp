// The requests that a test gets which plays the server of a client under test.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <span>

#include "driver/nbd/protocol.hpp"

namespace blkscope::nbd::testing {

/// The request in the bytes. If the client has sent none, as when it was late on a busy machine and has closed, the test
/// fails, and goes on with an empty request.
inline Request sent_request(std::span<const std::byte, request_bytes> bytes) {
    const auto request = parse_request(bytes);
    EXPECT_TRUE(request) << "the client has sent no request";
    return request ? *request : Request{};
}

}  // namespace blkscope::nbd::testing
