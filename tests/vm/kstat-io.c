/*
 * kstat-io MODULE INSTANCE NAME: one kstat's values for a shell script, one `name=value` a line.
 *
 * An IO kstat prints all its counters, a NAMED one its integers; both end with snaptime and crtime.
 * Times are nanoseconds, sizes bytes. Any other type is an error.
 *
 * Exit: 0; 1 with a line on standard error.
 */
#include <errno.h>
#include <inttypes.h>
#include <kstat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_io(const kstat_io_t* io) {
    printf("reads=%u\nwrites=%u\n", io->reads, io->writes);
    printf("nread=%llu\nnwritten=%llu\n", io->nread, io->nwritten);
    printf("wtime=%lld\nwlentime=%lld\n", io->wtime, io->wlentime);
    printf("rtime=%lld\nrlentime=%lld\n", io->rtime, io->rlentime);
    printf("wcnt=%u\nrcnt=%u\n", io->wcnt, io->rcnt);
}

static void print_named(const kstat_named_t* named) {
    switch (named->data_type) {
        case KSTAT_DATA_INT32:
            printf("%s=%" PRId32 "\n", named->name, named->value.i32);
            break;
        case KSTAT_DATA_UINT32:
            printf("%s=%" PRIu32 "\n", named->name, named->value.ui32);
            break;
        case KSTAT_DATA_INT64:
            printf("%s=%" PRId64 "\n", named->name, named->value.i64);
            break;
        case KSTAT_DATA_UINT64:
            printf("%s=%" PRIu64 "\n", named->name, named->value.ui64);
            break;
        default: /* text is of no use to a comparison of numbers */
            break;
    }
}

static int print(const kstat_t* ksp) {
    if (ksp->ks_type == KSTAT_TYPE_IO) {
        print_io(KSTAT_IO_PTR(ksp));
    } else if (ksp->ks_type == KSTAT_TYPE_NAMED) {
        for (uint_t i = 0; i < ksp->ks_ndata; ++i) print_named(KSTAT_NAMED_PTR(ksp) + i);
    } else {
        fprintf(stderr, "kstat-io: %s: type %d is neither IO nor NAMED\n", ksp->ks_name,
                ksp->ks_type);
        return EXIT_FAILURE;
    }
    printf("snaptime=%lld\ncrtime=%lld\n", ksp->ks_snaptime, ksp->ks_crtime);
    return EXIT_SUCCESS;
}

int main(int argc, char* argv[]) {
    if (argc != 4) {
        fputs("usage: kstat-io MODULE INSTANCE NAME\n", stderr);
        return EXIT_FAILURE;
    }
    kstat_ctl_t* const kc = kstat_open();
    if (kc == NULL) {
        fprintf(stderr, "kstat-io: kstat_open: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    int status = EXIT_FAILURE;
    kstat_t* const ksp = kstat_lookup(kc, argv[1], atoi(argv[2]), argv[3]);
    if (ksp == NULL || kstat_read(kc, ksp, NULL) == -1) {
        fprintf(stderr, "kstat-io: %s:%s:%s: %s\n", argv[1], argv[2], argv[3], strerror(errno));
    } else {
        status = print(ksp);
    }
    kstat_close(kc);
    return status;
}
