// TlsServedDevice: a served device whose clients speak TLS, with credentials for both sides.
#pragma once

#include <string>
#include <vector>

#include "credentials.hpp"
#include "served_device.hpp"

namespace blkscope::test {

class TlsServedDevice : public ServedDevice {
  protected:
    void SetUp() override;

    /// Serves on the fixture's Unix socket and on a TCP port, with certificates and keys; alice has
    /// one. `mode` as on the command line.
    void serve_tls(const std::string& mode, const std::vector<std::string>& options = {},
                   const std::string& backing = "memory:16M");

    [[nodiscard]] std::string tcp_address() const { return "localhost:" + port_; }
    [[nodiscard]] const std::string& port() const { return port_; }
    /// With the certificates in `folder`, or those that fit.
    [[nodiscard]] std::string x509_uri(const std::string& folder = "") const;
    [[nodiscard]] std::string psk_uri() const;
    [[nodiscard]] std::string x509_unix_uri() const;
    [[nodiscard]] std::string psk_unix_uri() const;

    /// Waits until the server has said `text`.
    [[nodiscard]] bool said(const std::string& text) const;

    std::string pki_;  // the folder of all credentials

  private:
    std::string port_;
};

}  // namespace blkscope::test
