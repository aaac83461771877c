#include "tools/top/batch.hpp"

#include <gtest/gtest.h>

#include "looks.hpp"

namespace blkscope::top {
namespace {

TEST(TopBatch, LinesAreThoseOfIostat) {
    DeviceLook nbd0 = idle_look("nbd0");
    Model model;
    model.take(look_at(first_look, {nbd0}));
    do_reads(nbd0, 99, 0, 10'000'000);
    nbd0.device.io.rtime += one_second;  // busy for more than the interval: jitter of the clock
    model.take(look_at(first_look + one_second, {nbd0}));
    EXPECT_EQ(batch_report(model),
              "                    extended device statistics              \n"
              "    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device\n"
              "   99.0    0.0  396.0    0.0  0.0  1.0    0.0   10.0   0 100 nbd0\n");
}

TEST(TopBatch, WhatCameAndWentIsToldOnce) {
    Model model;
    model.take(look_at(first_look, {idle_look("nbd0")}));
    model.take(look_at(first_look + one_second, {}));
    EXPECT_TRUE(batch_report(model).starts_with("<<disk removed: nbd0>>\n"));
    EXPECT_EQ(batch_report(model).find(" nbd0\n"), std::string::npos);
    model.take(look_at(first_look + 2 * one_second, {}));
    EXPECT_EQ(batch_report(model).find("<<"), std::string::npos);
}

}  // namespace
}  // namespace blkscope::top
