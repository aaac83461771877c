// The time of a provider's slow answers, one after the other.
//
// Only the bytes on the way excuse a slow answer, if there are two megabytes of them a second. The
// provider's own work on a long one does not.
//
// Threads: one.
#pragma once

#include <algorithm>
#include <chrono>

#include "kstat/reader/provider_connection.hpp"

namespace blkscope::kstat {

class SlowAnswers {
  public:
    /// An answer that takes longer is slow.
    static constexpr auto quick_answer = std::chrono::milliseconds(200);
    static constexpr auto time_max = std::chrono::seconds(5);
    /// The time for which the sending of long replies is no fault.
    static constexpr auto excused_max = std::chrono::seconds(30);

    /// `data_size`: bytes of the question.
    void note(Deadline asked, size_t data_size, const Reply& reply) {
        const auto sending = std::chrono::steady_clock::now() - reply.begun;
        const auto excused = std::min<Deadline::duration>(
            {sending, 4 * time_to_move(reply.body.size()), excused_max - excused_});
        excused_ += excused;
        const auto time = reply.begun + sending - asked - time_to_move(data_size) - excused;
        time_ = time > quick_answer ? time_ + time : time.zero();
    }

    [[nodiscard]] bool are_too_many() const { return time_ > time_max; }

  private:
    Deadline::duration time_{};
    Deadline::duration excused_{};
};

}  // namespace blkscope::kstat
