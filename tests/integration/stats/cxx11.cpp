// The header compiles alone, as C++11, without the builders.
#include <sys/stats.h>

int stats_cxx11() { return 0; }
