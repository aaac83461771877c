#include "driver/nbd/tls/certificate_dates.hpp"

#include <fmt/format.h>
#include <openssl/asn1.h>
#include <openssl/x509.h>

#include <ctime>

namespace blkscope::nbd {

std::string date_text(const ASN1_TIME* time) {
    std::tm date{};
    if (ASN1_TIME_to_tm(time, &date) != 1) return "a date that cannot be read";
    return fmt::format("{}-{:02}-{:02} {:02}:{:02} UTC", date.tm_year + 1900, date.tm_mon + 1,
                       date.tm_mday, date.tm_hour, date.tm_min);
}

std::string untimely(const ASN1_TIME* from, const ASN1_TIME* to) {
    if (X509_cmp_current_time(from) > 0) return "is not valid before " + date_text(from);
    if (to != nullptr && X509_cmp_current_time(to) < 0) return "expired on " + date_text(to);
    return {};
}

}  // namespace blkscope::nbd
