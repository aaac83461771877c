#include "tools/kstat2/options.hpp"

namespace blkscope::kstat2_command {
namespace {

constexpr auto synopsis =
    R"(Usage: kstat2 [-j | -l | -p | -q] [-m] [-i seconds] [-c count] [-T d|u]
              [-g glob] ... [-r expression] ... [uri[:statistic]] ...
       kstat2 [-h] [-d] [-m] [-i seconds] [-c count] [-T d|u]
              [-g glob] ... [-r expression] ... [uri[:statistic]] ...
)";

constexpr auto explanation =
    R"(
Prints the statistics that programs publish under URIs, all or selected ones.

  uri            the kstat of that URI and all below it: kstat:/disk/sd, /disk/sd
  uri:statistic  one of its values; a ; may stand for the colon
  -g glob        all whose whole URI matches a shell pattern; * crosses slashes
  -r expression  all whose URI matches a regular expression (PCRE) somewhere
  -p     a line each: uri:statistic, a tab, the value
  -l     the same without the value            -q  nothing but the exit status
  -j     JSON: an array for each report
  -h     in units: ms, KiB, ...                -d  with descriptions
  -m     with metadata: type, flags and scale of each value
  -i seconds   again and again                 -c count  so often (each second,
                                                         if -i does not say)
  -T u   before each report, the seconds since 1970; -T d the date;
         with -j as the member "time" of each object

A value that means nothing at present is shown as - (null in JSON).

Exit status: 0 something matched, 1 nothing did, 2 wrong usage, 3 failure.
)";

}  // namespace

std::string usage_text() {
    return std::string(synopsis) + "'kstat2 --help' explains the options.\n";
}

std::string help_text() {
    return std::string(synopsis) + explanation;
}

}  // namespace blkscope::kstat2_command
