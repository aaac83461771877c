/* The header compiles alone, as C99 with extensions. */
#include <sys/arb.h>

int stats_arb_alone(void) { return 0; }
