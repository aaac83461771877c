/*
 * devstat-io NAME: what libdevstat reads of one device (nbd0), for a shell script: one `name=value`
 * a line. Times are nanoseconds, sizes bytes.
 *
 * Exit: 0; 1 with a line on standard error.
 */
#include <devstat.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* const kinds[DEVSTAT_N_TRANS_FLAGS] = {"other", "read", "write", "free"};

/* To the nearest nanosecond. */
static int64_t ns(const struct bintime* time) {
    const int64_t ns_per_s = 1000000000;
    const uint64_t high = time->frac >> 32;
    return time->sec * ns_per_s +
           (int64_t)((high * (uint64_t)ns_per_s + (UINT64_C(1) << 31)) >> 32);
}

static void print(const struct devstat* device) {
    for (int kind = 0; kind < DEVSTAT_N_TRANS_FLAGS; ++kind) {
        printf("%s_operations=%" PRIu64 "\n", kinds[kind], device->operations[kind]);
        printf("%s_bytes=%" PRIu64 "\n", kinds[kind], device->bytes[kind]);
        printf("%s_duration=%" PRId64 "\n", kinds[kind], ns(&device->duration[kind]));
    }
    printf("busy_time=%" PRId64 "\n", ns(&device->busy_time));
    printf("in_flight=%u\n", device->start_count - device->end_count);
}

int main(int argc, char* argv[]) {
    struct devinfo info = {0};
    struct statinfo stats = {.dinfo = &info};
    if (argc != 2) {
        fputs("usage: devstat-io NAME\n", stderr);
        return EXIT_FAILURE;
    }
    if (devstat_getdevs(NULL, &stats) < 0) {
        fprintf(stderr, "devstat-io: %s\n", devstat_errbuf);
        return EXIT_FAILURE;
    }
    for (int i = 0; i < info.numdevs; ++i) {
        char name[DEVSTAT_NAME_LEN + 12];
        snprintf(name, sizeof name, "%s%d", info.devices[i].device_name,
                 info.devices[i].unit_number);
        if (strcmp(name, argv[1]) != 0) continue;
        print(&info.devices[i]);
        free(info.mem_ptr);
        return EXIT_SUCCESS;
    }
    fprintf(stderr, "devstat-io: %s: no such device\n", argv[1]);
    free(info.mem_ptr);
    return EXIT_FAILURE;
}
