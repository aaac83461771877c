// The text of OpenSSL's last error.
#pragma once

#include <string>

namespace blkscope::nbd {

/// The reason of the thread's last error. Clears OpenSSL's list of errors.
std::string tls_error_text();

}  // namespace blkscope::nbd
