#include "base/log_line.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <climits>
#include <cstdint>
#include <mutex>

namespace blkscope {
namespace {

// A text that a pipe takes in one piece. A longer one is cut.
class Text {
  public:
    void add(std::string_view part) {
        bytes_ += part.copy(all_.data() + bytes_, all_.size() - 1 - bytes_);
    }
    void add_count(std::string_view what, uint64_t count) {
        std::array<char, 24> digits{};
        char* const end = std::to_chars(digits.begin(), digits.end(), count).ptr;
        *end = '\n';
        add(what);
        add({digits.begin(), end + 1});
    }
    std::string_view ended() {
        all_[bytes_] = '\n';
        return {all_.data(), bytes_ + 1};
    }

  private:
    std::array<char, PIPE_BUF> all_;
    size_t bytes_ = 0;  // less than all: the last one is for the newline
};

}  // namespace

bool offer(int descriptor, std::string_view text, std::chrono::milliseconds patience) noexcept {
    while (!text.empty()) {
        pollfd ready{descriptor, POLLOUT, 0};
        const int count = poll(&ready, 1, static_cast<int>(patience.count()));
        // Without a reader the write would only raise SIGPIPE.
        if (count != 1 || ready.revents != POLLOUT) return false;
        // A pipe that is ready takes so many bytes without a wait. Whole lines are written or lost.
        std::string_view piece = text.substr(0, PIPE_BUF);
        if (const size_t end = piece.rfind('\n'); end != piece.npos)
            piece = piece.substr(0, end + 1);
        const ssize_t bytes = write(descriptor, piece.data(), piece.size());
        if (bytes <= 0) return false;
        text.remove_prefix(static_cast<size_t>(bytes));
    }
    return true;
}

// Allocates nothing: some lines tell of a shortage of memory.
void log_parts(std::initializer_list<std::string_view> parts) noexcept {
    static std::mutex mutex;
    static uint64_t lost = 0;
    const std::lock_guard one(mutex);
    Text text;
    if (lost > 0) text.add_count("blkscope: lines lost: ", lost);
    text.add("blkscope: ");
    for (const std::string_view part : parts) text.add(part);
    const auto patience = lost > 0 ? std::chrono::milliseconds(0) : reader_pause_max;
    lost = offer(STDERR_FILENO, text.ended(), patience) ? 0 : lost + 1;
}

}  // namespace blkscope
