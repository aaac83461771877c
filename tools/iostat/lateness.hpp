// How late a server itself ended a device's requests, beside the times of these requests.
//
//     planned end ── lateness ──▶ the end         only with a model, which plans each end
//
// A busy machine runs the server late. The requests then take longer than the device that the model
// stands for, and a figure of their times is in part the machine's.
//
// Units:   nanoseconds.
// Threads: pure functions of their arguments.
// Errors:  none.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tools/iostat/histograms.hpp"

namespace blkscope::iostat {

/// The histogram of the lateness among those of a device.
inline constexpr std::string_view lateness_name = "model_lateness";

/// Whether the lateness is a tenth of the times or more, both at the percentile `p`. Less is what
/// any machine needs to wake a thread. Requests that no model planned were not late, so a few late ones
/// among many do not show in a percentile. False if either histogram has no requests.
[[nodiscard]] bool is_noticeable(const Histogram& lateness, const Histogram& times,
                                 kstat2::PerMillion p);

/// Whether all lateness together is a tenth of all times or more.
[[nodiscard]] bool is_noticeable_in_mean(const Histogram& lateness, const Histogram& times);

/// Fewer requests have no p99 of their own: it is their slowest one. A list that shows no times says
/// nothing of them.
inline constexpr uint64_t requests_with_p99 = 100;

/// "the server itself ended requests late: p99 5ms, ...": the sentence about one interval's lateness.
[[nodiscard]] std::string lateness_text(const Histogram& lateness);

/// The sentence if the p99 of the lateness is noticeable in that of all reads and writes; else none.
[[nodiscard]] std::optional<std::string> late_server_text(const Histograms& interval);

}  // namespace blkscope::iostat
