// Revocations: the certificates that authorities have taken back, from a file of lists (CRLs).
//
//     ca-crl.pem     any number of lists in PEM, of the authorities of ca-cert.pem and of those below them
//
// GnuTLS' rules, which libvirt, qemu, nbdkit and libnbd have: a certificate counts as revoked if a list of its issuer
// names it. A list that has expired still revokes, and a certificate without a list of its issuer is as good as
// before. GnuTLS uses one list of each authority. Here all count, so that a file may be appended to.
//
// Rejected: X509_V_FLAG_CRL_CHECK of OpenSSL. It refuses every client of an authority without a list, every client
// from the day a list expires, and every client of an authority without the key usage cRLSign.
//
// Ownership: owns the lists.
// Threads:   constant after construction; used by all at once.
// Errors:    parse() throws std::invalid_argument with the list's number.
// Source:    RFC 5280 section 5; X509_CRL_get0_by_cert(3).
#pragma once

#include <string>
#include <string_view>
#include <vector>

struct X509_crl_st;
struct stack_st_X509;
struct x509_st;

namespace blkscope::nbd {

class Revocations {
  public:
    /// `authorities` are the trusted certificates. A list in the name of one of them must be signed by it.
    static Revocations parse(std::string_view text, const stack_st_X509* authorities);

    Revocations(Revocations&&) = default;
    Revocations& operator=(Revocations&&) = delete;
    ~Revocations();

    /// The first certificate of a verified chain, from the peer's up, that a list names; nullptr if there is none.
    [[nodiscard]] x509_st* first_revoked(const stack_st_X509* chain) const;

    /// Sentences about lists that may not do what their owner expects: expired, of the future, of an unknown authority.
    [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

  private:
    Revocations() = default;
    [[nodiscard]] bool names(x509_st* certificate, const x509_st* issuer) const;

    std::vector<X509_crl_st*> lists_;
    std::vector<std::string> warnings_;
};

}  // namespace blkscope::nbd
