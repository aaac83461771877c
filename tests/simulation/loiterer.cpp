#include "loiterer.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <utility>

#include "introduction.hpp"

namespace blkscope::simulation {
namespace {

using nbd::Option;

constexpr uint64_t drip_ns_max = 400'000'000;
constexpr uint64_t lazy_look_ns_max = 50'000;
constexpr uint64_t options_max = 60;  // more than a server reads

}  // namespace

Loiterer::Loiterer(Timeline& timeline, Judge& judge, Random random,
                   std::shared_ptr<SimulatedSocket> socket, hrtime_t stay_ns_max)
    : timeline_(timeline),
      judge_(judge),
      random_(random),
      socket_(std::move(socket)),
      manner_(static_cast<Manner>(random_.below(manners))),
      reads_(!random_.one_in(4)) {
    assert(stay_ns_max > 0);
    draw_words();
    if (socket_->closed()) {
        closed_ = true;
        return;
    }
    socket_->changed = [this] { look_soon(1); };
    look_soon(1);
    timeline_.after(stay_ns_max, [this, alive = alive_] {
        if (!*alive || over()) return;
        judge_.fail("a handshake is open after its time, manner " +
                    std::to_string(static_cast<int>(manner_)));
    });
}

Loiterer::~Loiterer() {
    *alive_ = false;
    if (!closed_) socket_->changed = nullptr;
}

void Loiterer::draw_words() {
    const auto add = [&](const std::vector<std::byte>& bytes) {
        out_.insert(out_.end(), bytes.begin(), bytes.end());
    };
    const std::vector<std::byte> flags{std::byte{0}, std::byte{0}, std::byte{0}, std::byte{3}};
    if (manner_ != Manner::idles && manner_ != Manner::garbage) add(flags);
    switch (manner_) {
        case Manner::idles:
        case Manner::vanishes:
            return;
        case Manner::drips:
            return add(said_option(Option::info, info_question("nobody", {})));
        case Manner::garbage:
            for (uint64_t i = random_.between(1, 2000); i > 0; --i) {
                out_.push_back(static_cast<std::byte>(random_.next() & 0xff));
            }
            return;
        case Manner::half:
            add(said_option(Option::go, info_question("nobody", {})));
            return out_.resize(out_.size() - random_.between(1, 16));
        case Manner::aborts:
            return add(said_option(Option::abort));
        case Manner::long_option: {
            std::vector<std::byte> bytes = said_option(Option::go);
            nbd::store_be<uint32_t>(std::span<std::byte, 4>(&bytes[12], 4), 0xffffffff);
            return add(bytes);
        }
        case Manner::asks:
            for (uint64_t i = random_.between(1, options_max); i > 0; --i) {
                add(said_option(random_.one_in(3) ? Option::list : Option::peek_export));
            }
            return;
    }
}

void Loiterer::close(bool reset) {
    if (closed_) return;
    closed_ = true;
    socket_->close(reset);
}

void Loiterer::look_soon(hrtime_t delay) {
    if (look_is_due_ || closed_) return;
    look_is_due_ = true;
    timeline_.after(delay, [this, alive = alive_] {
        if (!*alive) return;
        look_is_due_ = false;
        if (!closed_) look();
    });
}

void Loiterer::look() {
    std::array<std::byte, 4096> part;
    if (reads_) {
        const int64_t result = socket_->receive(part);
        if (result == 0 || (result < 0 && result != -EAGAIN)) return close(false);
        if (result > 0) look_soon(static_cast<hrtime_t>(random_.between(1, lazy_look_ns_max)));
    }
    push();
    if (manner_ == Manner::vanishes && random_.one_in(2)) close(random_.one_in(2));
}

void Loiterer::push() {
    if (closed_ || out_first_ == out_.size()) return;
    const bool drips = manner_ == Manner::drips;
    const size_t rest = out_.size() - out_first_;
    const size_t bytes = drips ? 1 : random_.between(1, rest);
    const int64_t result = socket_->send({&out_[out_first_], bytes});
    if (result == -EAGAIN) return;
    if (result < 0) return close(false);
    out_first_ += static_cast<size_t>(result);
    look_soon(static_cast<hrtime_t>(random_.between(1, drips ? drip_ns_max : lazy_look_ns_max)));
}

}  // namespace blkscope::simulation
