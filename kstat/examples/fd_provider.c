/*
 * Publishing statistics from a program of your own, in C, as a Solaris driver would.
 *
 *     cc -std=gnu99 fd_provider.c -lkstat_provider -lpthread -o fd_provider
 *     ./fd_provider 10 &          # ten seconds of I/O on a temporary file
 *     iostat -xn fd0 1            # what a device that queues looks like
 *     kstat -n system_pages       # what the kernel's memory counters are
 *
 * Two providers are in here.
 *
 * example:0:system_pages is NAMED: a table of records of ours (KSTAT_FLAG_VIRTUAL). An update
 * routine fills the table at each read, and no reader may write to it. The names are Solaris'. The
 * values are Linux's, and only those that Linux has. The module is "example" so that it is not
 * mistaken for unix:0:system_pages, which is the host's own.
 *
 * fd:0:fd0 is IO: a driver with a queue. fd_strategy accepts a request, fd_start takes the next one
 * to the file, fd_done gives it back. Each moves the request between the two queues of the kstat
 * with ks_lock held. So a reader sees a request in exactly one place, and finished and counted at
 * the same moment. Each way out must take its request out of the queue. Otherwise the idle device
 * would look busy for ever.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/kstat.h>
#include <sys/ksynch.h>
#include <unistd.h>

/* ---- NAMED: one record a line, an update routine, no data of the framework's. ---- */

static struct {
    kstat_named_t physmem;
    kstat_named_t freemem;
    kstat_named_t availrmem;
    kstat_named_t pagesfree;
    kstat_named_t pageslocked;
    kstat_named_t pagestotal;
} system_pages = {
    {"physmem", KSTAT_DATA_ULONG, {{0}}},     {"freemem", KSTAT_DATA_ULONG, {{0}}},
    {"availrmem", KSTAT_DATA_ULONG, {{0}}},   {"pagesfree", KSTAT_DATA_ULONG, {{0}}},
    {"pageslocked", KSTAT_DATA_ULONG, {{0}}}, {"pagestotal", KSTAT_DATA_ULONG, {{0}}},
};

/* The line of /proc/meminfo that begins with `name`, in pages; 0 if there is none. */
static ulong_t pages_of(const char *meminfo, const char *name) {
    const char *line = strstr(meminfo, name);

    if (line == NULL) return (0);
    return (strtoul(line + strlen(name), NULL, 10) * 1024 / (ulong_t)sysconf(_SC_PAGESIZE));
}

/* Runs at each read. Data that is expensive to collect is collected then, and only then. */
static int system_pages_update(kstat_t *ksp, int rw) {
    char meminfo[4096];
    ssize_t size;
    int file;

    (void)ksp;
    if (rw == KSTAT_WRITE) return (EACCES);
    file = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
    if (file < 0) return (EIO);
    size = read(file, meminfo, sizeof(meminfo) - 1);
    (void)close(file);
    if (size <= 0) return (EIO);
    meminfo[size] = '\0';

    system_pages.physmem.value.ul = pages_of(meminfo, "MemTotal:");
    system_pages.freemem.value.ul = pages_of(meminfo, "MemFree:");
    system_pages.availrmem.value.ul = pages_of(meminfo, "MemAvailable:");
    system_pages.pagesfree.value.ul = system_pages.freemem.value.ul;
    system_pages.pageslocked.value.ul = pages_of(meminfo, "Unevictable:");
    system_pages.pagestotal.value.ul = system_pages.physmem.value.ul;
    return (0);
}

static kstat_t *system_pages_attach(void) {
    kstat_t *ksp = kstat_create("example", 0, "system_pages", "pages", KSTAT_TYPE_NAMED,
                                sizeof(system_pages) / sizeof(kstat_named_t), KSTAT_FLAG_VIRTUAL);

    if (ksp == NULL) return (NULL);
    ksp->ks_data = &system_pages;
    ksp->ks_update = system_pages_update;
    kstat_install(ksp);
    return (ksp);
}

/* ---- IO: a driver's queue. ---- */

enum { BLOCK_SIZE = 4096, BLOCKS = 256, DEPTH = 2 };

struct request {
    struct request *next;
    int is_read;
    off_t offset;
    char data[BLOCK_SIZE];
    ssize_t moved; /* bytes; less than BLOCK_SIZE if it failed */
    int is_done;
};

static struct {
    kmutex_t lock; /* of everything below, and of the kstat's data */
    kcondvar_t changed;
    kstat_t *iostat;
    struct request *first;
    struct request **last;
    int file;
    int closing;
    pthread_t workers[DEPTH];
} fd;

#define KIOSP KSTAT_IO_PTR(fd.iostat)

/* Accepts a request: from here it waits. */
static void fd_strategy(struct request *request) {
    mutex_enter(&fd.lock);
    kstat_waitq_enter(KIOSP);
    request->next = NULL;
    request->is_done = 0;
    *fd.last = request;
    fd.last = &request->next;
    cv_broadcast(&fd.changed);
    mutex_exit(&fd.lock);
}

/* The next request, which from here is the file's; NULL when there will be no more. */
static struct request *fd_start(void) {
    struct request *request;

    mutex_enter(&fd.lock);
    while (fd.first == NULL && !fd.closing) cv_wait(&fd.changed, &fd.lock);
    request = fd.first;
    if (request != NULL) {
        fd.first = request->next;
        if (fd.first == NULL) fd.last = &fd.first;
        kstat_waitq_to_runq(KIOSP);
    }
    mutex_exit(&fd.lock);
    return (request);
}

/* Gives a request back. Counted in the same hold of the lock that takes it out of the queue. */
static void fd_done(struct request *request) {
    mutex_enter(&fd.lock);
    kstat_runq_exit(KIOSP);
    if (request->is_read) {
        KIOSP->nread += (u_longlong_t)request->moved;
        KIOSP->reads++;
    } else {
        KIOSP->nwritten += (u_longlong_t)request->moved;
        KIOSP->writes++;
    }
    request->is_done = 1;
    cv_broadcast(&fd.changed);
    mutex_exit(&fd.lock);
}

static void fd_wait(struct request *request) {
    mutex_enter(&fd.lock);
    while (!request->is_done) cv_wait(&fd.changed, &fd.lock);
    mutex_exit(&fd.lock);
}

/* The device has DEPTH of these, so what it cannot take at once waits. */
static void *fd_worker(void *unused) {
    struct request *request;
    ssize_t moved;

    (void)unused;
    while ((request = fd_start()) != NULL) {
        moved = request->is_read ? pread(fd.file, request->data, BLOCK_SIZE, request->offset)
                                 : pwrite(fd.file, request->data, BLOCK_SIZE, request->offset);
        request->moved = moved < 0 ? 0 : moved;
        fd_done(request);
    }
    return (NULL);
}

static int fd_attach(void) {
    char path[] = "/tmp/fd_provider.XXXXXX";
    int i;

    fd.file = mkstemp(path);
    if (fd.file < 0) return (errno);
    (void)unlink(path);
    if (ftruncate(fd.file, (off_t)BLOCKS * BLOCK_SIZE) != 0) return (errno);
    mutex_init(&fd.lock, NULL, MUTEX_DRIVER, NULL);
    cv_init(&fd.changed, NULL, CV_DRIVER, NULL);
    fd.last = &fd.first;
    fd.iostat = kstat_create("fd", 0, "fd0", "disk", KSTAT_TYPE_IO, 1, KSTAT_FLAG_PERSISTENT);
    if (fd.iostat == NULL) return (ENOMEM);
    fd.iostat->ks_lock = &fd.lock;
    kstat_install(fd.iostat);
    for (i = 0; i < DEPTH; i++) {
        const int error = pthread_create(&fd.workers[i], NULL, fd_worker, NULL);
        if (error != 0) return (error);
    }
    return (0);
}

static void fd_detach(void) {
    int i;

    mutex_enter(&fd.lock);
    fd.closing = 1;
    cv_broadcast(&fd.changed);
    mutex_exit(&fd.lock);
    for (i = 0; i < DEPTH; i++) (void)pthread_join(fd.workers[i], NULL);
    kstat_delete(fd.iostat);
    cv_destroy(&fd.changed);
    mutex_destroy(&fd.lock);
    (void)close(fd.file);
}

/* ---- The program. ---- */

enum { AT_ONCE = 8 };

/* More requests at a time than the device takes, so that some wait; two reads to each write. */
static void do_io(hrtime_t until) {
    static struct request requests[AT_ONCE];
    unsigned turn;
    int i;

    for (turn = 0; gethrtime() < until; turn++) {
        for (i = 0; i < AT_ONCE; i++) {
            requests[i].is_read = i % 3 != 0;
            requests[i].offset = (off_t)((turn * AT_ONCE + (unsigned)i) % BLOCKS) * BLOCK_SIZE;
            fd_strategy(&requests[i]);
        }
        for (i = 0; i < AT_ONCE; i++) fd_wait(&requests[i]);
        (void)usleep(1000);
    }
}

int main(int argc, char **argv) {
    const double seconds = argc > 1 ? strtod(argv[1], NULL) : 5;
    kstat_t *pages;
    int error;

    if (!(seconds > 0)) {
        (void)fprintf(stderr, "usage: fd_provider [SECONDS]\n");
        return (2);
    }
    pages = system_pages_attach();
    error = fd_attach();
    if (error != 0 || pages == NULL) {
        (void)fprintf(stderr, "fd_provider: %s\n", strerror(error));
        return (1);
    }
    do_io(gethrtime() + (hrtime_t)(seconds * 1e9));
    (void)printf("done: %u reads, %u writes\n", KIOSP->reads, KIOSP->writes);
    (void)fflush(stdout);
    /* Publishes on, idle, until standard input ends: until then a byte may tell it to go on. */
    while (getchar() != EOF) continue;
    fd_detach();
    kstat_delete(pages);
    return (0);
}
