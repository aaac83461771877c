#include "kstat/provider/requests.hpp"

#include <cerrno>
#include <utility>

#include "base/clock.hpp"
#include "kstat/registry/operations.hpp"

namespace blkscope::kstat {
namespace {

static_assert(data_size_max == wire::data_size_max);

// The data for answering one request.
class Answering {
  public:
    Answering(Chain& chain, Session& session, const wire::RequestHead& head,
              std::span<std::byte> body)
        : chain_(chain),
          session_(session),
          head_(head),
          body_(body),
          rest_(body),
          chain_id_(chain.id()) {}

    Answer reply() {
        if (static_cast<wire::Op>(head_.op) == wire::Op::hello) return hello();
        correct_clock();  // all workers may sleep, and a snapshot's time is CLOCK_MONOTONIC's
        if (!session_.greeted) return error(EPROTO);
        switch (static_cast<wire::Op>(head_.op)) {
            case wire::Op::hello:
                break;
            case wire::Op::chain_id:
                return encoded(0, {});
            case wire::Op::headers:
                return headers();
            case wire::Op::read:
                return read();
            case wire::Op::write:
                return write();
            case wire::Op::kstat2_generation:
            case wire::Op::kstat2_list:
            case wire::Op::kstat2_read:
            case wire::Op::kstat2_optional_list:
            case wire::Op::kstat2_optional_set:
                return of_the_second_kind();
        }
        return error(EINVAL);
    }

  private:
    Answer hello() {
        const auto hello = wire::take<wire::Hello>(rest_);
        if (!hello || hello->magic != wire::magic) return error(EPROTO);
        session_.greeted = hello->version == wire::version;
        const wire::Welcome welcome{wire::magic, wire::version, session_.identity};
        return encoded(session_.greeted ? 0 : EPROTONOSUPPORT, wire::bytes_of(welcome));
    }

    Answer headers() {
        const auto from = wire::take<wire::ListFrom>(rest_);
        if (!from) return error(EINVAL);
        // One header more than a page holds shows whether there is another page.
        auto found = chain_.headers(from->after_kid, wire::headers_per_page + 1);
        const bool more = found.size() > wire::headers_per_page;
        if (more) found.pop_back();
        return encoded(0, wire::encode_page(found, more));
    }

    Answer read() {
        const auto wanted = wire::take<wire::DataHead>(rest_);
        if (!wanted) return error(EINVAL);
        Reading reading = read_kstat(chain_, wanted->kid);
        if (!reading.reached) return error(reading.error);
        const wire::DataHead head = wire::data_head(reading.header);
        if (reading.error == 0 && head.type == KSTAT_TYPE_NAMED) {
            // A provider's own ks_snapshot may have written less than its ks_ndata promises.
            if (!wire::is_well_formed(head, reading.data.size())) return error(EIO);
            wire::pointers_to_offsets(reading.data, head.ndata);
        }
        return encoded(reading.error, wire::bytes_of(head), std::move(reading.data));
    }

    // The privilege is checked first, before the request itself.
    Answer write() {
        if (!session_.may_write) return error(EPERM);
        const auto head = wire::take<wire::DataHead>(rest_);
        if (!head) return error(EINVAL);
        const auto data = body_.last(rest_.size());
        if (head->data_size != data.size()) return error(EINVAL);
        const bool named = head->type == KSTAT_TYPE_NAMED;
        if (named && !(wire::is_well_formed(*head, data.size()) &&
                       wire::offsets_to_pointers(data, head->ndata))) {
            return error(EINVAL);
        }
        return error(write_kstat(chain_, head->kid, head->ndata, data));
    }

    Answer of_the_second_kind() {
        const auto answered = answer_kstat2({}, session_, static_cast<wire::Op>(head_.op), rest_);
        return encoded(answered.error, answered.body);
    }

    Answer error(int number) const { return encoded(number, {}); }

    Answer encoded(int number, wire::Bytes body, ZeroedBytes data = {}) const {
        return {wire::encode_reply({0, number, head_.sequence, chain_id_}, body, data.size()),
                std::move(data)};
    }

    Chain& chain_;
    Session& session_;
    const wire::RequestHead& head_;
    std::span<std::byte> body_;
    wire::Bytes rest_;
    // Read before the work: a list newer than its id is only fetched once more. An old list under a
    // new id would stay old.
    kid_t chain_id_;
};

}  // namespace

uint32_t request_length_max(const Session& session) {
    constexpr uint32_t largest_write = sizeof(wire::DataHead) + wire::data_size_max;
    return session.may_write ? largest_write : wire::small_request_max;
}

Answer answer(Chain& chain, Session& session, const wire::RequestHead& head,
              std::span<std::byte> body) {
    return Answering(chain, session, head, body).reply();
}

}  // namespace blkscope::kstat
