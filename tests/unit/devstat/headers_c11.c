/* The headers as strict C11 sees them, in the order of a FreeBSD program. */
#include <sys/devicestat.h>
#include <sys/param.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <devstat.h>

_Static_assert(DSM_MAX == 45 && DS_SELECT_ADDONLY == 3, "the numbers of the enumerations");

int c11_sees_the_devstat_types(void) {
    struct bintime time = {1, 0};
    return devstat_compute_etime(&time, 0) == 1.0L;
}
