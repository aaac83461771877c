// Dates of certificates and of lists of revocations, as text for a user.
//
// Threads: any.
// Source:  ASN1_TIME_to_tm(3); RFC 5280 section 4.1.2.5.
#pragma once

#include <string>

struct asn1_string_st;

namespace blkscope::nbd {

/// As "2026-11-28 13:05 UTC".
[[nodiscard]] std::string date_text(const asn1_string_st* time);

/// Why something with these dates does not apply now, as "expired on DATE"; empty if it does. `to` may be null, for
/// no end.
[[nodiscard]] std::string untimely(const asn1_string_st* from, const asn1_string_st* to);

}  // namespace blkscope::nbd
