#include "iostat/usage.hpp"

namespace blkscope::iostat {

namespace {

constexpr auto synopsis =
    "Usage: iostat [-dDIMnpPrsxz] [-l n] [-T d|u] [disk ...] [interval [count]]\n";

constexpr auto explanation =
    R"(Reports on block devices from their kstats. The first report covers the time
since each device was created; later ones cover one interval (seconds) each.

  -x     a line per device, all columns    -n  name last, wsvc_t asvc_t apart
  -d     kps tps serv, side by side        -D  rps wps util, side by side
  -I     counts per interval, not rates    -M  megabytes, not kilobytes
  -z     with -x: leave out idle devices   -r  comma-separated
  -p     partitions too                    -P  partitions only
  -l n   at most n devices                 -s  silent when devices come and go
  -T u   before each report, the seconds since 1970; -T d the date

  r/s w/s          reads, writes completed per second (rps wps; tps: both)
  kr/s kw/s        KiB read, written per second, with -M MiB (kps: both)
  wait  actv       mean number of requests waiting to start; being served
  wsvc_t  asvc_t   mean milliseconds a request waited; was being served
  svc_t, serv      wsvc_t + asvc_t
  %w  %b, util     percent of the time that any request waited; was being served

Not to be misread:
  %b is not capacity. One slow request makes it 100; a device that serves many
     at once may do ten times more at the same %b. Look at actv and asvc_t.
  %w near 100 with a tiny wsvc_t only means that the queue is rarely empty.
  svc_t is a response time: it grows with the depth of the queues. High wsvc_t
     is queueing in front of the device, high asvc_t is the device.
  Means hide extremes, and below 0.5 requests per second they are noise.
  r/s and w/s 0, actv 1 or more and %b 100: requests started, none came back.
)";

}  // namespace

std::string usage_text() {
    return std::string(synopsis) + "'iostat --help' explains the options and the columns.\n";
}

std::string help_text() {
    return std::string(synopsis) + explanation;
}

}  // namespace blkscope::iostat
