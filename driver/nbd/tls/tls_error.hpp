// Why OpenSSL failed, in words.
#pragma once

#include <string>

namespace blkscope::nbd {

/// The reason of the thread's last error, which it takes from OpenSSL's list with all others.
std::string tls_error_text();

}  // namespace blkscope::nbd
