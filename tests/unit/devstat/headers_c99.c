/* The headers as strict C99 sees them, each first. */
#include <devstat.h>
#include <kvm.h>
#include <sys/bio.h>
#include <sys/devicestat.h>

int c99_sees_the_devstat_types(void) {
    struct statinfo info = {{0}, 0, 0, 0, 0};
    kvm_t *const kernel = 0;
    return info.cp_time[CP_IDLE] == 0 && kernel == 0 && sizeof(struct devstat) == 288;
}
