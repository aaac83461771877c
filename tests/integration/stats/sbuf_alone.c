/* The header compiles alone, as C99 with extensions. */
#include <sys/sbuf.h>

int stats_sbuf_alone(void) { return 0; }
