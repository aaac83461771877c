#include "driver/nbd/tls/tls_session.hpp"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <new>

#include "driver/nbd/text.hpp"
#include "driver/nbd/tls/tls.hpp"
#include "driver/nbd/tls/tls_error.hpp"

namespace blkscope::nbd {
namespace {

// The difference of a record and its plaintext: header, nonce, tag and content type.
constexpr size_t record_overhead_max = 256;

// Kept free of data, for answers to key updates and for the closing message.
constexpr size_t control_bytes = 1024;

// The place in a list of pieces up to which they are taken, never in an empty piece.
class PieceCursor {
  public:
    explicit PieceCursor(std::span<const iovec> pieces) : pieces_(pieces) { skip_empty(); }

    [[nodiscard]] bool at_end() const { return pieces_.empty(); }
    /// The bytes left of the current piece.
    [[nodiscard]] size_t left() const { return pieces_.front().iov_len - taken_; }

    /// The next bytes of the current piece: at least one, at most `bytes_max`.
    std::span<const std::byte> take(size_t bytes_max) {
        assert(!at_end() && bytes_max > 0);
        const auto* const from = static_cast<const std::byte*>(pieces_.front().iov_base) + taken_;
        const size_t bytes = std::min(left(), bytes_max);
        taken_ += bytes;
        skip_empty();
        return {from, bytes};
    }

  private:
    void skip_empty() {
        while (!at_end() && left() == 0) {
            pieces_ = pieces_.subspan(1);
            taken_ = 0;
        }
    }

    std::span<const iovec> pieces_;
    size_t taken_ = 0;  // of the first of pieces_
};

// The plaintext of the next record. A piece that fills the record is used where it is. Smaller
// pieces are copied to `room`, which has the length of a record.
std::span<const std::byte> next_record(PieceCursor& from, std::span<std::byte> room) {
    if (from.left() >= room.size()) return from.take(room.size());
    size_t bytes = 0;
    while (!from.at_end() && bytes < room.size()) {
        const std::span<const std::byte> part = from.take(room.size() - bytes);
        std::memcpy(room.data() + bytes, part.data(), part.size());
        bytes += part.size();
    }
    return room.first(bytes);
}

}  // namespace

// OpenSSL's access to our two buffers. OpenSSL's memory BIO would grow with its content.
struct TlsSessionBio {
    static int read(BIO* bio, char* to, int bytes_max) {
        TlsSession& session = session_of(bio);
        BIO_clear_retry_flags(bio);
        const size_t bytes =
            std::min(static_cast<size_t>(bytes_max), session.input_end_ - session.input_begin_);
        if (bytes == 0) {
            BIO_set_retry_read(bio);
            return -1;
        }
        std::memcpy(to, session.input_.get() + session.input_begin_, bytes);
        session.input_begin_ += bytes;
        assert(session.input_begin_ <= session.input_end_);
        return static_cast<int>(bytes);
    }

    static int write(BIO* bio, const char* from, int bytes) {
        TlsSession& session = session_of(bio);
        BIO_clear_retry_flags(bio);
        if (static_cast<size_t>(bytes) > session.output_room()) {
            BIO_set_retry_write(bio);
            return -1;
        }
        std::memcpy(session.output_.get() + session.output_end_, from, static_cast<size_t>(bytes));
        session.output_end_ += static_cast<size_t>(bytes);
        return bytes;
    }

    static long control(BIO*, int what, long, void*) { return what == BIO_CTRL_FLUSH ? 1 : 0; }

    static TlsSession& session_of(BIO* bio) {
        assert(BIO_get_data(bio) != nullptr);
        return *static_cast<TlsSession*>(BIO_get_data(bio));
    }

    // Never freed, because sessions may exist on any thread when the program ends.
    static BIO_METHOD* method() {
        static BIO_METHOD* const the_one = [] {
            BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "blkscope");
            if (made == nullptr) throw std::bad_alloc();
            BIO_meth_set_read(made, read);
            BIO_meth_set_write(made, write);
            BIO_meth_set_ctrl(made, control);
            return made;
        }();
        return the_one;
    }
};

TlsSession::TlsSession(std::shared_ptr<const TlsContext> context)
    : context_(std::move(context)),
      input_(std::make_unique_for_overwrite<std::byte[]>(input_bytes_max)),
      output_(std::make_unique_for_overwrite<std::byte[]>(output_bytes_max)),
      record_(std::make_unique_for_overwrite<std::byte[]>(record_bytes_max)) {
    assert(context_ != nullptr);
    BIO* bio = BIO_new(TlsSessionBio::method());
    if (bio == nullptr) throw std::bad_alloc();
    BIO_set_data(bio, this);
    BIO_set_init(bio, 1);
    ssl_ = SSL_new(context_->get());
    if (ssl_ == nullptr) {
        BIO_free(bio);
        throw std::bad_alloc();
    }
    SSL_set_bio(ssl_, bio, bio);   // takes the one reference for both directions
    SSL_set_app_data(ssl_, this);  // the callbacks of keys read it
    context_->is_client() ? SSL_set_connect_state(ssl_) : SSL_set_accept_state(ssl_);
    if (context_->server_name().empty()) return;
    // The macro SSL_set_tlsext_host_name has an old cast.
    SSL_ctrl(ssl_, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
             const_cast<char*>(context_->server_name().c_str()));
}

TlsSession::~TlsSession() {
    SSL_free(ssl_);
}

// ---- To and from the socket ----

std::span<std::byte> TlsSession::input() {
    assert(input_begin_ <= input_end_);
    const size_t left = input_end_ - input_begin_;
    std::memmove(input_.get(), input_.get() + input_begin_, left);
    input_begin_ = 0;
    input_end_ = left;
    return {input_.get() + left, input_bytes_max - left};
}

void TlsSession::received(size_t bytes) {
    assert(bytes <= input_bytes_max - input_end_);
    input_end_ += bytes;
}

std::span<const std::byte> TlsSession::output() const {
    assert(output_begin_ <= output_end_);
    return {output_.get() + output_begin_, output_end_ - output_begin_};
}

void TlsSession::sent(size_t bytes) {
    assert(bytes <= output_end_ - output_begin_);
    output_begin_ += bytes;
    if (output_begin_ == output_end_) output_begin_ = output_end_ = 0;
}

size_t TlsSession::output_room() const {
    assert(output_end_ <= output_bytes_max);
    return output_bytes_max - output_end_;
}

// ---- To and from the peer ----

const char* TlsSession::peer_word() const {
    return context_->is_client() ? "server" : "client";
}

// Without verification its result is no reason. With a shared key there is no result.
std::string TlsSession::reason_of_failure() const {
    const long verified = SSL_get_verify_result(ssl_);
    if (verified == X509_V_ERR_APPLICATION_VERIFICATION) {
        return "the server does not have the key of " + printable(context_->user());
    }
    if (verified == X509_V_OK || verified == X509_V_ERR_UNSPECIFIED ||
        SSL_get_verify_mode(ssl_) == SSL_VERIFY_NONE) {
        return tls_error_text();
    }
    return tls_error_text() + " (" + X509_verify_cert_error_string(verified) + ")";
}

// Converts the result of a failed OpenSSL call to an errno.
int32_t TlsSession::outcome(int result) {
    switch (SSL_get_error(ssl_, result)) {
        case SSL_ERROR_WANT_READ:
            return -EAGAIN;
        case SSL_ERROR_ZERO_RETURN:
            return 0;
        case SSL_ERROR_WANT_WRITE:
            failure_ =
                fmt::format("the {} sends key updates and does not read the answers", peer_word());
            return -EPROTO;
        default:
            failure_ = reason_of_failure();
    }
    if (!client_.empty()) failure_.append("; the client is ").append(client_);
    return -EPROTO;
}

// A client may offer as many names as a message has room for. Only the first is logged.
void TlsSession::offered_unknown_key(std::string_view name) {
    if (unknown_key_ || unknown_key_taken_) return;
    unknown_key_ = printable(name);
    assert(unknown_key_->size() <= printable_bytes_max);
}

std::optional<std::string> TlsSession::take_unknown_key() {
    unknown_key_taken_ = unknown_key_taken_ || unknown_key_.has_value();
    return std::exchange(unknown_key_, std::nullopt);
}

int TlsSession::handshake() {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_);
    if (result == 1) return 0;
    const int32_t why = outcome(result);
    if (why == 0) failure_ = fmt::format("the {} ended TLS", peer_word());
    return why == 0 ? -EPROTO : why;
}

int32_t TlsSession::read(std::span<std::byte> to) {
    if (!failure_.empty()) return -EPROTO;
    size_t taken = 0;
    while (taken < to.size()) {
        size_t bytes = 0;
        ERR_clear_error();
        const int result = SSL_read_ex(ssl_, to.data() + taken, to.size() - taken, &bytes);
        if (result != 1) {
            const int32_t why = outcome(result);
            if (taken == 0) return why;
            break;  // OpenSSL reports it again
        }
        taken += bytes;
        assert(taken <= to.size());
    }
    return static_cast<int32_t>(taken);
}

// A client may offer a key and then agree on a cipher that the key does not fit. The server's
// certificate is used instead, and the client has proved nothing. TLS 1.2 asks for a key only to use
// it. In TLS 1.3 a key counts as a session, and there are no other sessions.
bool TlsSession::has_used_key() const {
    return SSL_version(ssl_) < TLS1_3_VERSION || SSL_session_reused(ssl_) == 1;
}

std::string TlsSession::client_name() const {
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(ssl_),
                                                                  X509_free);
    if (!certificate) return has_used_key() ? key_name_ : "";
    const X509_NAME* const subject = X509_get_subject_name(certificate.get());
    const int place = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (place < 0) return {};
    const ASN1_STRING* const name = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, place));
    const auto* const bytes = reinterpret_cast<const char*>(ASN1_STRING_get0_data(name));
    return {bytes, static_cast<size_t>(ASN1_STRING_length(name))};
}

bool TlsSession::in_record() const {
    // Between a record's header and the first byte of its body OpenSSL has nothing pending.
    const bool in_body = std::string_view(SSL_rstate_string(ssl_)) == "RB";
    return input_begin_ != input_end_ || SSL_has_pending(ssl_) == 1 || in_body;
}

bool TlsSession::write_record(const void* data, size_t bytes) {
    assert(bytes > 0);
    assert(bytes <= record_bytes_max);
    assert(!closed_);
    size_t written = 0;
    ERR_clear_error();
    const int result = SSL_write_ex(ssl_, data, bytes, &written);
    assert(result != 1 || written == bytes);
    if (result == 1) return true;
    outcome(result);
    if (failure_.empty()) failure_ = "a record could not be written";
    return false;
}

int32_t TlsSession::write(std::span<const iovec> pieces) {
    if (!failure_.empty()) return -EPROTO;
    PieceCursor from(pieces);
    size_t taken = 0;
    while (!from.at_end() &&
           output_room() >= record_bytes_max + record_overhead_max + control_bytes) {
        const std::span<const std::byte> record =
            next_record(from, {record_.get(), record_bytes_max});
        if (!write_record(record.data(), record.size())) return -EPROTO;
        taken += record.size();
    }
    return static_cast<int32_t>(taken);
}

void TlsSession::close() {
    if (closed_) return;
    closed_ = true;
    if (!failure_.empty()) return;
    ERR_clear_error();
    SSL_shutdown(ssl_);
    ERR_clear_error();
}

}  // namespace blkscope::nbd
