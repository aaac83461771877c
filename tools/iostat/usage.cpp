#include "tools/iostat/options.hpp"

namespace blkscope::iostat {
namespace {

constexpr auto synopsis =
    "Usage: iostat [-cCdDeEiIjLmMnpPqrsStuwxXyYz] [-l n] [-T d|u]\n"
    "              [--clients] [--must-exist] [disk ...] [interval [count]]\n";

constexpr auto explanation =
    R"(Reports on block devices from their kstats. The first report covers the time
since each device was created; later ones cover one interval (seconds) each.

What is reported (by default -tdc; -x beats -d and -D, and they beat -e and -E):
  -d     kps tps serv, side by side        -D  rps wps util, side by side
  -x     a line per device, all columns    -C  with -x, -e: controllers too
  -e     errors: s/w h/w trn, total        -E  every record of the error kstats
  -w     how wait, service and total       -L  how the times of reads and writes
         times are spread, by operation        are spread, by powers of two
  -q     -x with percentiles of wait and service: 50, 99 and 99.9 %
  -t     tin tout of terminals             -c  us sy dt id of processors
  -p     partitions too                    -P  partitions only
  -X     paths, by initiator               -Y  paths, by target and one by one
  -l n   at most n devices                 -z  with -x -w -L -j: no idle devices
  -y     no report since the creation; devices that come later count from theirs
  -S     at the end, also at Ctrl-C: average, minimum, maximum of the whole run
How:
  -n     name last, wsvc_t asvc_t apart    -m  with -n: where it is mounted
  -I     counts per interval, not rates    -M  megabytes, not kilobytes
  -u     service times to the microsecond  -i  with -E: identity, not serial
  -r     comma-separated                   -s  silent when devices come and go
  -j     a line of JSON per report, with everything; -I -M -T do not change it
         (histograms and percentiles only with -w, -L or -q)
  -T u   before each report, the seconds since 1970; -T d the date
  --clients         the clients of served disks too; 'blkscope clients' says who
  --must-exist      end with status 2 when a disk that is named is not there
  --style freebsd   the report and the options of FreeBSD's iostat: add --help

  r/s w/s          reads, writes completed per second (rps wps; tps: both)
  kr/s kw/s        KiB read, written per second, with -M MiB (kps: both)
  wait  actv       mean number of requests waiting to start; being served
  wsvc_t  asvc_t   mean ms that a request waited; was served (svc_t, serv: both)
  w_p99  a_p99     the milliseconds in which 99 % had waited; had been served
  %w  %b, util     percent of the time that any request waited; was being served
  s/w h/w trn      soft, hard, transport errors since the creation
  tin tout         characters read from, written to terminals per second
  us sy dt id      percent of the processors' time: user, system, tracing, idle

Not to be misread:
  %b is not capacity. One slow request makes it 100; a device that serves many
     at once may do ten times more at the same %b. Look at actv and asvc_t.
  %w near 100 with a tiny wsvc_t only means that the queue is rarely empty.
  svc_t is a response time: it grows with the depth of the queues. High wsvc_t
     is queueing in front of the device, high asvc_t is the device.
  Means hide extremes, and below 0.5 requests per second they are noise: -w, -L
     and -q show what they are made of.
  A percentile is the upper end of its bucket, and percentiles have no mean.
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
