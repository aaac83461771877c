// TlsClient: the client's side of a TLS connection, which a test can make do what no client should.
//
// The client moves no bytes itself. take() returns the bytes that it would send, and give() hands
// it received bytes. So the client works with a socket or without one.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

struct ssl_st;
struct ssl_ctx_st;

namespace blkscope::test {

struct TlsClientOptions {
    int version = 0;  // TLS1_2_VERSION, ...; 0 for any
    std::filesystem::path certificates =
        {};                           // with ca-cert.pem, and client-*.pem if there; or none
    std::filesystem::path keys = {};  // with keys.psk; or none
    std::string ciphers = {};         // of TLS 1.2 and below; the usual ones if empty
    std::string suites = {};          // of TLS 1.3; the usual ones if empty
};

class TlsClient {
  public:
    enum class Status { done, wants_more, closed, failed };

    explicit TlsClient(const TlsClientOptions& options);
    ~TlsClient();
    TlsClient(const TlsClient&) = delete;
    TlsClient& operator=(const TlsClient&) = delete;

    Status handshake();
    /// Adds up to `bytes` to `to`.
    Status read(std::string& to, size_t bytes);
    /// Fails the test if it cannot.
    void write(std::string_view text);
    /// Asks for new keys, TLS 1.3.
    void update_keys();
    /// Says that nothing more will come.
    void close();

    std::string take();
    void give(std::string_view ciphertext);
    [[nodiscard]] const char* version() const;
    [[nodiscard]] const char* cipher() const;

  private:
    Status status(int result);

    ssl_ctx_st* context_;
    ssl_st* ssl_;
    std::string name_;
    std::string key_;
};

}  // namespace blkscope::test
