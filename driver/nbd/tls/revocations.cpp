#include "driver/nbd/tls/revocations.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <climits>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

#include "driver/nbd/text.hpp"
#include "driver/nbd/tls/certificate_dates.hpp"
#include "driver/nbd/tls/tls_error.hpp"

namespace blkscope::nbd {
namespace {

using CrlBio = std::unique_ptr<BIO, int (*)(BIO*)>;
using KeyId = std::unique_ptr<AUTHORITY_KEYID, void (*)(AUTHORITY_KEYID*)>;

std::string name_text(const X509_NAME* name) {
    const CrlBio text(BIO_new(BIO_s_mem()), BIO_free);
    if (!text) throw std::bad_alloc();
    X509_NAME_print_ex(text.get(), name, 0, XN_FLAG_ONELINE);
    const char* bytes = nullptr;
    const long size = BIO_get_mem_data(text.get(), &bytes);
    return printable({bytes, static_cast<size_t>(size)});
}

// An authority may have had several keys, or two authorities one name. A list says whose it is, if it says so at all.
bool may_have_signed(const X509* authority, X509_CRL* list) {
    if (X509_NAME_cmp(X509_get_subject_name(authority), X509_CRL_get_issuer(list)) != 0)
        return false;
    const KeyId wanted(static_cast<AUTHORITY_KEYID*>(X509_CRL_get_ext_d2i(
                           list, NID_authority_key_identifier, nullptr, nullptr)),
                       AUTHORITY_KEYID_free);
    return !wanted || X509_check_akid(authority, wanted.get()) == X509_V_OK;
}

// Why a list cannot be used with these authorities; empty if it can.
std::string damage(X509_CRL* list, const STACK_OF(X509) * authorities, bool& is_known) {
    is_known = false;
    for (int i = 0; i < sk_X509_num(authorities); ++i) {
        X509* const authority = sk_X509_value(authorities, i);
        if (!may_have_signed(authority, list)) continue;
        is_known = true;
        if (X509_CRL_verify(list, X509_get0_pubkey(authority)) == 1) return {};
    }
    ERR_clear_error();
    return is_known ? "is not signed by its authority" : "";
}

}  // namespace

Revocations Revocations::parse(std::string_view text, const STACK_OF(X509) * authorities) {
    if (text.size() > INT_MAX) throw std::invalid_argument("too long");
    const CrlBio from(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free);
    if (!from) throw std::bad_alloc();
    Revocations revocations;
    for (size_t number = 1;; ++number) {
        ERR_clear_error();
        X509_CRL* const list = PEM_read_bio_X509_CRL(from.get(), nullptr, nullptr, nullptr);
        if (list == nullptr) {
            const bool is_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
            const std::string why = tls_error_text();
            if (is_end) break;
            throw std::invalid_argument(fmt::format("list {}: {}", number, why));
        }
        revocations.lists_.push_back(list);
        bool is_known = false;
        const std::string wrong = damage(list, authorities, is_known);
        const std::string issuer = name_text(X509_CRL_get_issuer(list));
        if (!wrong.empty()) {
            throw std::invalid_argument(fmt::format("list {}, of {}, {}", number, issuer, wrong));
        }
        const auto warn = [&](const std::string& about) {
            revocations.warnings_.push_back(
                fmt::format("list {}, of {}, {}", number, issuer, about));
        };
        if (!is_known)
            warn("is not of an authority of ca-cert.pem, and counts only for those below one");
        const std::string when =
            untimely(X509_CRL_get0_lastUpdate(list), X509_CRL_get0_nextUpdate(list));
        if (!when.empty())
            warn(when + "; what it names stays revoked, but a later list may name more");
    }
    // DER begins with a sequence. Many authorities offer their lists in no other form.
    if (revocations.lists_.empty() && text.starts_with('\x30')) {
        throw std::invalid_argument("in DER, not in PEM; openssl crl -inform DER converts it");
    }
    if (revocations.lists_.empty()) throw std::invalid_argument("no list of revoked certificates");
    return revocations;
}

Revocations::~Revocations() {
    for (X509_CRL* const list : lists_) X509_CRL_free(list);
}

bool Revocations::names(X509* certificate, const X509* issuer) const {
    for (X509_CRL* const list : lists_) {
        X509_REVOKED* entry = nullptr;
        if (!may_have_signed(issuer, list)) continue;
        if (X509_CRL_get0_by_cert(list, &entry, certificate) == 1) return true;
    }
    return false;
}

X509* Revocations::first_revoked(const STACK_OF(X509) * chain) const {
    for (int i = 0; i < sk_X509_num(chain); ++i) {
        X509* const certificate = sk_X509_value(chain, i);
        // The last one is trusted. It has no issuer, or is its own.
        const X509* const issuer = sk_X509_value(chain, std::min(i + 1, sk_X509_num(chain) - 1));
        if (names(certificate, issuer)) return certificate;
    }
    return nullptr;
}

}  // namespace blkscope::nbd
