// Admission: whether a waiting request has its tokens, by the limits of its device and of its client.
//
// A request that lacks tokens of its client takes none of the device's, and the reverse.
//
// Units:     nanoseconds of the model's clock.
// Ownership: borrows the limits for one call of DeviceQueue.
// Threads:   a worker, with the device locked.
// Errors:    none.
#pragma once

#include <algorithm>

#include "blockdev/model/limits.hpp"
#include "blockdev/queue/buf.hpp"
#include "blockdev/queue/client.hpp"

namespace blkscope {

class Admission {
  public:
    /// `device` is nullptr for a device without limits of its own.
    Admission(model::Limits* device, hrtime_t now) : device_(device), now_(now) {}

    /// Takes the tokens of the request, if they are there.
    [[nodiscard]] bool admits(Buf& buf) const {
        model::Limits* const own = own_of(buf);
        for (model::Limits* const limits : {own, device_}) {
            if (limits == nullptr) continue;
            limits->go_on(now_);
            if (!limits->has_tokens(buf)) return false;
        }
        for (model::Limits* const limits : {own, device_}) {
            if (limits == nullptr) continue;
            limits->take(buf);
            buf.tokens_since = std::max(buf.tokens_since, limits->admitted_since());
        }
        return true;
    }

    /// The operations of which no request behind this one has tokens in this pass, as bits. With
    /// `same_client` all of these requests are of its client.
    [[nodiscard]] uint8_t barred(const Buf& buf, bool same_client) const {
        uint8_t all = device_ != nullptr ? device_->barred() : 0;
        if (same_client && own_of(buf) != nullptr) all |= own_of(buf)->barred();
        return all;
    }

  private:
    static model::Limits* own_of(const Buf& buf) {
        return buf.client != nullptr && buf.client->limits ? &*buf.client->limits : nullptr;
    }

    model::Limits* device_;
    hrtime_t now_;
};

}  // namespace blkscope
