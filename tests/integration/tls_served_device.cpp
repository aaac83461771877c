#include "tls_served_device.hpp"

#include <cstring>

namespace blkscope::test {

void TlsServedDevice::SetUp() {
    ServedDevice::SetUp();
    pki_ = path("pki");
    make_certificates(pki_);
    make_key(pki_, "alice");
}

void TlsServedDevice::serve_tls(const std::string& mode, const std::vector<std::string>& options,
                                const std::string& backing) {
    std::vector<std::string> arguments{"--port", "0", "--tls", mode};
    if (mode != "off") {
        arguments.insert(arguments.end(), {"--tls-certs", pki_, "--tls-psk", pki_ + "/keys.psk"});
    }
    arguments.insert(arguments.end(), options.begin(), options.end());
    serve(backing, arguments);
    const std::string output = server_->output();
    const size_t host = output.find("127.0.0.1:");
    ASSERT_NE(host, std::string::npos) << output;
    const size_t begin = host + std::strlen("127.0.0.1:");
    port_ = output.substr(begin, output.find('/', begin) - begin);
}

std::string TlsServedDevice::x509_uri(const std::string& folder) const {
    return "nbds://" + tcp_address() + "/?tls-certificates=" + (folder.empty() ? pki_ : folder);
}

std::string TlsServedDevice::psk_uri() const {
    return "nbds://alice@" + tcp_address() + "/?tls-psk-file=" + pki_ + "/keys.psk";
}

std::string TlsServedDevice::x509_unix_uri() const {
    return "nbds+unix:///?socket=" + socket_ + "&tls-certificates=" + pki_;
}

std::string TlsServedDevice::psk_unix_uri() const {
    return "nbds+unix://alice@/?socket=" + socket_ + "&tls-psk-file=" + pki_ + "/keys.psk";
}

bool TlsServedDevice::said(const std::string& text) const {
    return eventually([&] { return server_->output().find(text) != std::string::npos; });
}

}  // namespace blkscope::test
