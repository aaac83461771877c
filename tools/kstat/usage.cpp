#include "tools/kstat/options.hpp"

namespace blkscope::kstat_command {
namespace {

constexpr auto synopsis =
    R"(Usage: kstat [-Cjlpq] [-T d|u] [-c class] [-m module] [-i instance] [-n name]
             [-s statistic] [interval [count]]
       kstat [-Cjlpq] [-T d|u] [-c class]
             [module[:instance[:name[:statistic]]] ...] [interval [count]]
)";

constexpr auto explanation =
    R"(
Prints statistics that programs publish as kstats, all or selected ones, once or
every interval (seconds).

  -m, -i, -n, -s, -c   only of this module, instance, name; only this statistic;
                       only of this class. A shell pattern ('nbd*', '[!a-f]?'),
                       or between slashes a regular expression (/^nbd[0-9]+$/)
  module:instance:...  the same in one word; an empty field matches anything
  -p     a line each: module:instance:name:statistic, a tab, the value
  -C     the same with a colon for the tab     -l  the same without the value
  -j     JSON: an array for each report        -q  no statistics, but the status
  -T u   before each report, the seconds since 1970; -T d the date;
         with -j as the member "time" of each object

crtime and snaptime are when a kstat was created and when it was read, in
seconds on the system's monotonic clock; the times of an I/O kstat (wtime,
rlentime, ...) are nanoseconds.

Exit status: 0 something matched, 1 nothing did (no line says so),
2 wrong usage, 3 failure.
)";

}  // namespace

std::string usage_text() {
    return std::string(synopsis) + "'kstat -h' explains the options.\n";
}

std::string help_text() {
    return std::string(synopsis) + explanation;
}

}  // namespace blkscope::kstat_command
