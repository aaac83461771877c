// Detours: the ways of a request that has a plan, beside the straight way through its device.
//
//     hand_out() ─▶ launch() ─┬─▶ run() ─▶ done() ─▶ holds() ─┬─ no ──────────▶ finish()
//                             ├─▶ done(), without the backing └─ held ─ resume() ─▶ finish()
//                             └─▶ hung ─┬─ resume(), or a change ─▶ run()
//                                       └─ abandon() ─▶ finish()
//
//     a waiting request or gathered flush whose client is lost: abandon() ─▶ end(), without a place in the depth
//
// Without power no request is held, and abandon() also resumes all that are.
//
// Units:     ticks of the kernel's clock.
// Ownership: none; the functions act on the device of the buf's lane.
// Threads:   the worker of the buf's lane.
// Errors:    none.
#pragma once

#include "blockdev/device/device.hpp"
#include "blockdev/device/lane.hpp"

namespace blkscope {

class Detours {
  public:
    /// Gives the backing a buf that has started, unless a fault acts instead. The device is locked.
    static void launch(Buf& buf, Device::From from);

    /// Adds the part of the buf's fault that comes after the backing.
    static void strike(Buf& buf);
    /// Holds an answered buf until its planned end. False if that has passed. The device is locked.
    [[nodiscard]] static bool holds(Buf& buf);

    /// Whether the rest of a request must not happen. Its client is lost, or the power is, and no
    /// client waits. A flush goes on, because it may serve other clients' flushes. So does the sync
    /// after a FUA write that failed. The kernel tells a failed sync once, and data of other clients
    /// may be lost.
    [[nodiscard]] static bool is_void(Buf& buf);
    /// Gives a void request its error, which is no error of the device.
    static void refuse(Buf& buf);

    /// An alarm of the lane: held requests end, hung ones go on, and others have their tokens.
    static void resume(Lane& here);

    /// See Controls::abandon().
    static void abandon(Lane& lane);

  private:
    static void resume_due(Lane& here, Device::From from);
    static void go_on(Buf& buf, Device::From from);
    static void end_unwanted(Buf& buf);
    static void end_orphans(Lane& lane);
};

}  // namespace blkscope
