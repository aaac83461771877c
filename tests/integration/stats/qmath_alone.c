/* The header compiles alone, as C99 with extensions. */
#include <sys/qmath.h>

int stats_qmath_alone(void) { return 0; }
