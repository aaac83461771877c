/* The header compiles alone, as C99 with extensions. */
#include <sys/stats.h>

int stats_stats_alone(void) { return 0; }
