/* The headers as strict C99 sees them, each first. */
#include <devstat.h>
#include <kvm.h>
#include <sys/bio.h>
#include <sys/devicestat.h>

int c99_sees_the_devstat_types(void) {
    struct statinfo info = {{0}, 0, 0, 0, 0};
    kvm_t *const kernel = 0;
    struct rlimit limit = {0, 0}; /* <devstat.h> has <sys/resource.h>, as FreeBSD's has */
    struct rusage usage = {.ru_maxrss = 0};
    if (limit.rlim_cur != RLIMIT_CPU || usage.ru_maxrss != 0) return 0;
    return info.cp_time[CP_IDLE] == 0 && kernel == 0 && sizeof(struct devstat) == 288;
}
