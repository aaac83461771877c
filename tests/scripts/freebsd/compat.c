/*
 * The parts of FreeBSD's C library and headers that Linux does not have. The program uses them as programs
 * of FreeBSD do. Prints nothing if all of them are as FreeBSD's manual says. C and C++ compilers both take
 * this file.
 */
#include <sys/cdefs.h>
__FBSDID("$FreeBSD$");

#include <sys/param.h>
#include <sys/dkstat.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/sysctl.h>
#include <sys/time.h>
#include <sys/vmmeter.h>
#include <vm/vm_param.h>

#include <devstat.h>
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <kvm.h>
#include <libutil.h>
#include <nlist.h>
#include <osreldate.h>
#include <paths.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
#include <memory>
#include <string>
#endif

#if __FreeBSD_version < 1400000
#error "an old FreeBSD"
#endif

#define MUST(what) do {							\
	if (!(what))							\
		errx(EX_SOFTWARE, "%d: %s", __LINE__, #what);		\
} while (0)

static void usage(void) __dead2;
static void say(char *to, size_t size, const char *fmt, ...) __printflike(3, 4);

static void
usage(void)
{

	fprintf(stderr, "usage: %s\n", getprogname());
	exit(EX_USAGE);
}

static void
say(char *to, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(to, size, fmt, ap);
	va_end(ap);
}

static void
binary_times(int signo __unused)
{
	struct bintime a, b;
	struct timespec ts, sum;
	struct timeval tv;

	a.sec = 1;
	a.frac = UINT64_C(3) << 62;		/* 1.75 s */
	b.sec = 0;
	b.frac = UINT64_C(1) << 63;		/* 0.5 s */
	bintime_add(&a, &b);
	MUST(a.sec == 2 && a.frac == UINT64_C(1) << 62);
	MUST(bintime_cmp(&a, &b, >) && bintime_cmp(&b, &a, !=));
	bintime_sub(&a, &b);
	MUST(a.sec == 1 && a.frac == UINT64_C(3) << 62);
	bintime2timespec(&a, &ts);
	MUST(ts.tv_sec == 1 && ts.tv_nsec == 750000000);
	bintime2timeval(&a, &tv);
	MUST(tv.tv_sec == 1 && tv.tv_usec == 750000);
	MUST(bttosbt(a) == SBT_1S + SBT_1S / 4 * 3);
	bintime_addx(&a, UINT64_C(1) << 62);
	MUST(a.sec == 2 && a.frac == 0 && bintime_isset(&a));
	bintime_shift(&a, -2);
	MUST(a.sec == 0 && a.frac == UINT64_C(1) << 63);
	bintime_mul(&a, 5);
	MUST(a.sec == 2 && a.frac == UINT64_C(1) << 63);
	bintime_shift(&a, 3);
	MUST(a.sec == 20 && a.frac == 0);
	bintime_clear(&a);
	MUST(!bintime_isset(&a));

	ts.tv_sec = 7;
	ts.tv_nsec = 500000000;
	timespec2bintime(&ts, &a);
	MUST(a.sec == 7 && a.frac > UINT64_MAX / 1000 * 499 &&
	    a.frac <= UINT64_C(1) << 63);
	MUST(devstat_compute_etime(&a, NULL) > 7.4L);
	tv.tv_sec = 7;
	tv.tv_usec = 500000;
	timeval2bintime(&tv, &b);
	MUST(b.sec == 7 && bintime_cmp(&b, &a, >=));
	for (int64_t ns = -2000000000; ns < 2000000000; ns += 12345678)
		MUST(sbttons(nstosbt(ns)) == ns);
	MUST(sbttots(tstosbt(ts)).tv_nsec == ts.tv_nsec);
	MUST(sbttotv(tvtosbt(tv)).tv_usec == tv.tv_usec);
	MUST(sbttobt(SBT_1S * 3).sec == 3 && sbttoms(SBT_1M) == 60000);

	timespecadd(&ts, &ts, &sum);
	MUST(sum.tv_sec == 15 && sum.tv_nsec == 0);
	MUST(timespeccmp(&sum, &ts, >));
	timespecsub(&sum, &ts, &sum);
	MUST(timespeccmp(&sum, &ts, ==));
	MUST(clock_gettime(CLOCK_UPTIME, &ts) == 0 && timespecisset(&ts));
}

/* Times of the same clock in every unit; the coarse times are not later. */
static void
uptimes(void)
{
	struct timespec coarse, now, since;
	struct timeval coarse_tv, tv;
	struct bintime coarse_bt, bt;
	sbintime_t coarse_sbt, sbt;

	getnanouptime(&coarse);
	getmicrouptime(&coarse_tv);
	getbinuptime(&coarse_bt);
	coarse_sbt = getsbinuptime();
	MUST(clock_gettime(CLOCK_MONOTONIC, &since) == 0);
	nanouptime(&now);
	microuptime(&tv);
	binuptime(&bt);
	sbt = sbinuptime();
	MUST(timespeccmp(&since, &now, <=) && tv.tv_usec < 1000000);
	MUST(now.tv_sec <= tv.tv_sec && tv.tv_sec <= bt.sec && bt.sec <= sbintime_getsec(sbt));
	MUST(timespeccmp(&coarse, &now, <=) && timercmp(&coarse_tv, &tv, <=));
	MUST(bintime_cmp(&coarse_bt, &bt, <=) && coarse_sbt <= sbt);
	MUST(sbt - coarse_sbt < SBT_1M && sbt - bttosbt(bt) < SBT_1M);
}

static const struct {
	const char *wish, *title;
	long size;
} block_sizes[] = {
	{"K", "1K-blocks", 1024},      {"1024", "1024-blocks", 1024}, {"1000", "1000-blocks", 1000},
	{"010K", "10K-blocks", 10240}, {"100", "512-blocks", 512},    {"-1K", "512-blocks", 512},
	{"2G", "1G-blocks", 1 << 30},  {"1T", "512-blocks", 512},     {"4Kx", "512-blocks", 512},
	{"0", "512-blocks", 512},      {"", "512-blocks", 512},
};

/* The sum of the areas of swap space, and the unit of sizes. */
static void
swaps_and_blocks(void)
{
	struct kvm_swap swaps[64], total;
	unsigned int pages = 0;
	char *title;
	long size;
	int areas, i, length;

	areas = kvm_getswapinfo(NULL, swaps, 64, 0);
	MUST(areas >= 0 && strcmp(swaps[areas].ksw_devname, "Total") == 0);
	for (i = 0; i < areas; i++) {
		MUST(swaps[i].ksw_used <= swaps[i].ksw_total);
		MUST(strncmp(swaps[i].ksw_devname, "/dev/", 5) != 0);
		pages += swaps[i].ksw_total;
	}
	MUST(swaps[areas].ksw_total - pages <= (unsigned int)areas);
	MUST(kvm_getswapinfo(NULL, &total, 1, SWIF_DEV_PREFIX) == 0);
	MUST(total.ksw_total == swaps[areas].ksw_total);
	MUST(kvm_getswapinfo(NULL, swaps, 0, 0) == -1 && kvm_getswapinfo(NULL, swaps, 1, 1) == -1);

	MUST(kvm_getswapinfo(NULL, NULL, 0, 0) == 0);
	MUST(kvm_kread(NULL, 0, &pages, sizeof pages) == -1);

	unsetenv("BLOCKSIZE");
	title = getbsize(&length, &size);
	MUST(size == 512 && strcmp(title, "512-blocks") == 0 && length == 10);
	setenv("BLOCKSIZE", "4K", 1);
	title = getbsize(&length, &size);
	MUST(size == 4096 && strcmp(title, "4K-blocks") == 0 && length == 9);
	setenv("BLOCKSIZE", "1g", 1);
	MUST(strcmp(getbsize(&length, &size), "1G-blocks") == 0 && size == 1 << 30);
	setenv("BLOCKSIZE", "1536", 1);
	MUST(strcmp(getbsize(&length, &size), "1536-blocks") == 0 && size == 1536);
	for (i = 0; i < (int)(sizeof block_sizes / sizeof *block_sizes); i++) {
		setenv("BLOCKSIZE", block_sizes[i].wish, 1);
		MUST(strcmp(getbsize(&length, &size), block_sizes[i].title) == 0);
		MUST(size == block_sizes[i].size && length == (int)strlen(block_sizes[i].title));
	}
	unsetenv("BLOCKSIZE");
}

struct item {
	int value;
	STAILQ_ENTRY(item) tail;
	LIST_ENTRY(item) list;
	SLIST_ENTRY(item) single;
	TAILQ_ENTRY(item) both;
};

LIST_HEAD(lists, item);
SLIST_HEAD(singles, item);
STAILQ_HEAD(tails, item);
TAILQ_HEAD(boths, item);

static struct item items[4];

/* The values of a list as one number, the first value in the highest place. */
#define DIGITS(kind, head, field) __extension__ ({			\
	struct item *at_;						\
	int digits_ = 0;						\
	kind##_FOREACH(at_, (head), field)				\
		digits_ = digits_ * 10 + at_->value;			\
	digits_;							\
})

static void
lists(void)
{
	struct lists a = LIST_HEAD_INITIALIZER(a), b = LIST_HEAD_INITIALIZER(b);
	struct item *it, *next;
	int i, seen;

	for (i = 3; i >= 0; i--)
		LIST_INSERT_HEAD(i < 2 ? &a : &b, &items[i], list);
	MUST(LIST_PREV(&items[0], &a, item, list) == NULL);
	MUST(LIST_PREV(&items[1], &a, item, list) == &items[0]);
	LIST_SWAP(&a, &b, item, list);
	MUST(DIGITS(LIST, &a, list) == 34 && DIGITS(LIST, &b, list) == 12);
	MUST(LIST_PREV(&items[2], &a, item, list) == NULL);
	LIST_CONCAT(&b, &a, item, list);
	MUST(LIST_EMPTY(&a) && DIGITS(LIST, &b, list) == 1234);
	MUST(LIST_PREV(&items[2], &b, item, list) == &items[1]);
	LIST_CONCAT(&b, &a, item, list);
	LIST_CONCAT(&a, &b, item, list);
	MUST(LIST_EMPTY(&b) && DIGITS(LIST, &a, list) == 1234);
	MUST(LIST_PREV(&items[0], &a, item, list) == NULL);
	LIST_SWAP(&a, &b, item, list);
	MUST(LIST_EMPTY(&a));
	LIST_REMOVE(&items[0], list);
	MUST(DIGITS(LIST, &b, list) == 234);
	seen = 0;
	it = &items[2];
	LIST_FOREACH_FROM_SAFE(it, &b, list, next) {
		seen = seen * 10 + it->value;
		LIST_REMOVE(it, list);
	}
	MUST(seen == 34 && it == NULL && DIGITS(LIST, &b, list) == 2);
	LIST_FOREACH_FROM_SAFE(it, &b, list, next)
		LIST_REMOVE(it, list);
	MUST(LIST_EMPTY(&b));
}

static void
singles(void)
{
	struct singles a = SLIST_HEAD_INITIALIZER(a), b = SLIST_HEAD_INITIALIZER(b);
	struct item *it, *next, **link;
	int i, seen;

	for (i = 3; i >= 0; i--)
		SLIST_INSERT_HEAD(i < 2 ? &a : &b, &items[i], single);
	SLIST_SWAP(&a, &b, item);
	MUST(DIGITS(SLIST, &a, single) == 34 && DIGITS(SLIST, &b, single) == 12);
	SLIST_CONCAT(&b, &a, item, single);
	MUST(SLIST_EMPTY(&a) && DIGITS(SLIST, &b, single) == 1234);
	SLIST_CONCAT(&b, &a, item, single);
	SLIST_CONCAT(&a, &b, item, single);
	MUST(SLIST_EMPTY(&b) && DIGITS(SLIST, &a, single) == 1234);
	SLIST_FOREACH_PREVPTR(it, link, &a, single) {
		MUST(*link == it);
		if (it->value == 3)
			break;
	}
	SLIST_REMOVE_PREVPTR(link, it, single);
	MUST(DIGITS(SLIST, &a, single) == 124);
	seen = 0;
	it = &items[1];
	SLIST_FOREACH_FROM_SAFE(it, &a, single, next) {
		seen = seen * 10 + it->value;
		SLIST_REMOVE(&a, it, item, single);
	}
	MUST(seen == 24 && DIGITS(SLIST, &a, single) == 1);
}

static void
tails(void)
{
	struct tails a = STAILQ_HEAD_INITIALIZER(a), b = STAILQ_HEAD_INITIALIZER(b);
	struct item *it, *next;
	int i, seen;

	for (i = 0; i < 4; i++)
		STAILQ_INSERT_TAIL(&a, &items[i], tail);
	STAILQ_SWAP(&a, &b, item);
	MUST(STAILQ_EMPTY(&a) && DIGITS(STAILQ, &b, tail) == 1234);
	STAILQ_REMOVE(&b, &items[0], item, tail);
	STAILQ_INSERT_TAIL(&a, &items[0], tail);
	STAILQ_SWAP(&a, &b, item);
	MUST(DIGITS(STAILQ, &a, tail) == 234 && DIGITS(STAILQ, &b, tail) == 1);
	MUST(STAILQ_LAST(&a, item, tail) == &items[3]);
	MUST(STAILQ_LAST(&b, item, tail) == &items[0]);
	seen = 0;
	it = &items[2];
	STAILQ_FOREACH_FROM_SAFE(it, &a, tail, next) {
		seen = seen * 10 + it->value;
		STAILQ_REMOVE(&a, it, item, tail);
	}
	MUST(seen == 34 && DIGITS(STAILQ, &a, tail) == 2);
	STAILQ_CONCAT(&b, &a);
	MUST(DIGITS(STAILQ, &b, tail) == 12);
}

static void
boths(void)
{
	struct boths a = TAILQ_HEAD_INITIALIZER(a), b = TAILQ_HEAD_INITIALIZER(b);
	struct item *it, *next;
	int i, seen;

	MUST(TAILQ_LAST_FAST(&a, item, both) == NULL);
	for (i = 0; i < 4; i++)
		TAILQ_INSERT_TAIL(&a, &items[i], both);
	MUST(TAILQ_LAST_FAST(&a, item, both) == &items[3]);
	MUST(TAILQ_PREV_FAST(&items[3], &a, item, both) == &items[2]);
	MUST(TAILQ_PREV_FAST(&items[0], &a, item, both) == NULL);
	TAILQ_SWAP(&a, &b, item, both);
	MUST(TAILQ_EMPTY(&a) && DIGITS(TAILQ, &b, both) == 1234);
	TAILQ_REMOVE(&b, &items[0], both);
	TAILQ_INSERT_TAIL(&a, &items[0], both);
	TAILQ_SWAP(&a, &b, item, both);
	MUST(DIGITS(TAILQ, &a, both) == 234 && DIGITS(TAILQ, &b, both) == 1);
	MUST(TAILQ_LAST(&a, boths) == &items[3] && TAILQ_LAST(&b, boths) == &items[0]);
	MUST(TAILQ_PREV(&items[1], boths, both) == NULL);
	seen = 0;
	it = &items[2];
	TAILQ_FOREACH_REVERSE_FROM(it, &a, boths, both)
		seen = seen * 10 + it->value;
	MUST(seen == 32 && it == NULL);
	TAILQ_FOREACH_REVERSE_FROM(it, &a, boths, both)
		seen = seen * 10 + it->value;
	MUST(seen == 32432);
	seen = 0;
	it = &items[2];
	TAILQ_FOREACH_REVERSE_FROM_SAFE(it, &a, boths, both, next) {
		seen = seen * 10 + it->value;
		TAILQ_REMOVE(&a, it, both);
	}
	MUST(seen == 32 && DIGITS(TAILQ, &a, both) == 4);
	TAILQ_FOREACH_FROM_SAFE(it, &a, both, next)
		TAILQ_REMOVE(&a, it, both);
	MUST(TAILQ_EMPTY(&a));
}

#ifdef __cplusplus
/* Elements that are classes. */
class Element {
public:
	SLIST_CLASS_ENTRY(Element) single;
	STAILQ_CLASS_ENTRY(Element) tail;
	LIST_CLASS_ENTRY(Element) list;
	TAILQ_CLASS_ENTRY(Element) both;
};

static void
classes(void)
{
	SLIST_CLASS_HEAD(, Element) single = SLIST_HEAD_INITIALIZER(single);
	STAILQ_CLASS_HEAD(, Element) tail = STAILQ_HEAD_INITIALIZER(tail);
	LIST_CLASS_HEAD(, Element) list = LIST_HEAD_INITIALIZER(list);
	TAILQ_CLASS_HEAD(both_head, Element) both = TAILQ_HEAD_INITIALIZER(both);
	Element one, two;

	SLIST_INSERT_HEAD(&single, &one, single);
	SLIST_INSERT_AFTER(&one, &two, single);
	MUST(SLIST_NEXT(SLIST_FIRST(&single), single) == &two);
	STAILQ_INSERT_TAIL(&tail, &one, tail);
	STAILQ_INSERT_TAIL(&tail, &two, tail);
	MUST(STAILQ_LAST(&tail, Element, tail) == &two);
	LIST_INSERT_HEAD(&list, &one, list);
	LIST_INSERT_AFTER(&one, &two, list);
	MUST(LIST_PREV(&two, &list, Element, list) == &one);
	TAILQ_INSERT_TAIL(&both, &one, both);
	TAILQ_INSERT_TAIL(&both, &two, both);
	MUST(TAILQ_LAST(&both, both_head) == &two);
	MUST(TAILQ_PREV_FAST(&two, &both, Element, both) == &one);
}
#endif

static void
queues(void)
{
	STAILQ_HEAD(, item) queue = STAILQ_HEAD_INITIALIZER(queue);
	LIST_HEAD(, item) list = LIST_HEAD_INITIALIZER(list);
	struct item *it, *next;
	int i, sum;

	for (i = 0; i < 4; i++) {
		if ((it = (struct item *)calloc(1, sizeof(*it))) == NULL)
			err(EX_OSERR, "calloc");
		it->value = i;
		STAILQ_INSERT_TAIL(&queue, it, tail);
		LIST_INSERT_HEAD(&list, it, list);
	}
	MUST(STAILQ_LAST(&queue, item, tail)->value == 3);
	it = STAILQ_FIRST(&queue);
	STAILQ_REMOVE_AFTER(&queue, it, tail);
	it = STAILQ_NEXT(it, tail);
	sum = 0;
	STAILQ_FOREACH_FROM(it, &queue, tail)
		sum += it->value;
	MUST(sum == 2 + 3);
	LIST_FOREACH_SAFE(it, &list, list, next) {
		LIST_REMOVE(it, list);
		free(it);
	}
	MUST(LIST_EMPTY(&list));
}

static void
texts(void)
{
	char buf[8], wide[64];
	const char *errstr;
	void *memory;
	char *constant;
	uint64_t expanded;

	MUST(strlcpy(buf, "devstat", sizeof(buf)) == 7 && strcmp(buf, "devstat") == 0);
	MUST(strlcat(buf, "ics", sizeof(buf)) == 10 && strcmp(buf, "devstat") == 0);
	MUST(strlcpy(buf, "libdevstat", sizeof(buf)) == 10 && strcmp(buf, "libdevs") == 0);
	MUST(strnstr("kern.devstat", "dev", 7) == NULL);
	MUST(strtonum("12", 1, 12, &errstr) == 12 && errstr == NULL);
	MUST(strtonum("13", 1, 12, &errstr) == 0 && strcmp(errstr, "too large") == 0);
	MUST(strtonum("0", 1, 12, &errstr) == 0 && strcmp(errstr, "too small") == 0);
	MUST(strtonum("1x", 1, 12, &errstr) == 0 && strcmp(errstr, "invalid") == 0);
	MUST(strerror_r(ENOENT, wide, sizeof(wide)) == 0);
	MUST((memory = reallocf(NULL, 10)) != NULL);
	free(memory);
	say(wide, sizeof(wide), "%s %zu", "da", nitems(buf));
	MUST(strcmp(wide, "da 8") == 0);
	MUST(asprintf(&constant, "%s%d", "da", 0) == 3);
	free(constant);
	constant = __DECONST(char *, "text");
	MUST(__predict_true(constant[0] == 't'));

	MUST(humanize_number(buf, 5, 999, "", HN_AUTOSCALE, HN_NOSPACE | HN_B) == 4);
	MUST(strcmp(buf, "999B") == 0);
	MUST(humanize_number(buf, 5, 1536, "", HN_AUTOSCALE, HN_NOSPACE | HN_DECIMAL) == 4);
	MUST(strcmp(buf, "1.5K") == 0);
	MUST(humanize_number(buf, 5, INT64_C(10) << 30, "", HN_AUTOSCALE, HN_NOSPACE) == 3);
	MUST(strcmp(buf, "10G") == 0);
	MUST(humanize_number(wide, sizeof(wide), 2000000, "B", 2, HN_DIVISOR_1000) == 4);
	MUST(strcmp(wide, "2 MB") == 0);
	MUST(humanize_number(buf, 7, -4096, "", HN_AUTOSCALE, HN_IEC_PREFIXES) == 5);
	MUST(strcmp(buf, "-4 Ki") == 0);
	MUST(humanize_number(buf, 5, 1 << 20, "", HN_GETSCALE, HN_NOSPACE) == 2);
	MUST(humanize_number(buf, 2, 1, "", HN_AUTOSCALE, HN_NOSPACE) == -1);
	MUST(humanize_number(buf, 5, 1, "", 0, HN_DIVISOR_1000 | HN_IEC_PREFIXES) == -1);
	MUST(expand_number("10k", &expanded) == 0 && expanded == 10240);
	MUST(expand_number("2GB", &expanded) == 0 && expanded == UINT64_C(2) << 30);
	MUST(expand_number("99E", &expanded) == -1 && errno == ERANGE);
	MUST(expand_number("k", &expanded) == -1 && errno == EINVAL);
}

/* Two passes over the same words, as iostat makes them. */
static void
options(void)
{
	char *words[] = { __DECONST(char *, "monitor"), __DECONST(char *, "-xw"),
	    __DECONST(char *, "5"), __DECONST(char *, "-n3"),
	    __DECONST(char *, "vbd0"), __DECONST(char *, "-z"), NULL };
	int c, pass, seen;

	for (pass = 0; pass < 2; pass++) {
		optreset = 1;
		optind = 1;
		seen = 0;
		while ((c = getopt((int)nitems(words) - 1, words, "n:w:xz")) != -1) {
			switch (c) {
			case 'x':
				seen |= 1;
				break;
			case 'w':
				MUST(strcmp(optarg, "5") == 0);
				seen |= 2;
				break;
			case 'n':
				MUST(atoi(optarg) == 3);
				seen |= 4;
				break;
			default:
				usage();
			}
		}
		MUST(seen == 7);
		MUST(optind == 4 && strcmp(words[optind], "vbd0") == 0);
	}
	opterr = 0;
	optreset = optind = 1;
	MUST(getopt(2, words, "x") == 'x');
	MUST(getopt(2, words, "x") == '?' && optopt == 'w');
	optreset = optind = 1;
	MUST(getopt(2, words, ":xw:") == 'x');
	MUST(getopt(2, words, ":xw:") == ':' && optopt == 'w');
	MUST(getopt(2, words, ":xw:") == -1);
}

static int
an_int(const char *name)
{
	size_t len;
	int value;

	len = sizeof(value);
	if (sysctlbyname(name, &value, &len, NULL, 0) == -1 || len != sizeof(value))
		err(EX_OSERR, "%s", name);
	return (value);
}

/* Numbers of memory, of events since the start, and of processes. */
static void
sysctls_of_memory(void)
{
	static const char *counts[] = {"vm.stats.vm.v_vm_faults", "vm.stats.vm.v_forks",
	    "vm.stats.sys.v_swtch", "vm.stats.sys.v_intr"};
	static const char *may_be_zero[] = {"vm.stats.vm.v_swappgsin", "vm.stats.vm.v_swappgsout",
	    "vm.stats.vm.v_vnodepgsin", "vm.stats.vm.v_vnodepgsout", "vm.stats.sys.v_soft", "vm.swap_total"};
	struct vmtotal total;
	char model[256];
	uint64_t number;
	uint32_t half;
	size_t i, len;
	long bufspace;
	int pages, all;

	pages = an_int("vm.stats.vm.v_active_count") + an_int("vm.stats.vm.v_inactive_count") +
	    an_int("vm.stats.vm.v_wire_count") + an_int("vm.stats.vm.v_cache_count") +
	    an_int("vm.stats.vm.v_laundry_count") + an_int("vm.stats.vm.v_free_count");
	all = an_int("vm.stats.vm.v_page_count");
	MUST(pages > all - all / 10 && pages < all + all / 10);
	MUST(an_int("vm.stats.vm.v_active_count") > 0 && an_int("vm.stats.vm.v_wire_count") > 0);

	for (i = 0; i < sizeof counts / sizeof *counts; i++) {
		len = sizeof number;
		MUST(sysctlbyname(counts[i], &number, &len, NULL, 0) == 0 && len == 8 && number > 0);
		len = sizeof half;
		MUST(sysctlbyname(counts[i], &half, &len, NULL, 0) == 0 && len == 4);
		MUST(half - (uint32_t)number < 0x1000000);
	}
	for (i = 0; i < sizeof may_be_zero / sizeof *may_be_zero; i++) {
		len = sizeof number;
		MUST(sysctlbyname(may_be_zero[i], &number, &len, NULL, 0) == 0 && len == 8);
	}

	len = sizeof total;
	MUST(sysctlbyname("vm.vmtotal", &total, &len, NULL, 0) == 0 && len == sizeof total);
	MUST(total.t_free > 0 && total.t_free < (uint64_t)all && total.t_rm > 0 && total.t_rq > 0);
	MUST(total.t_rmshr <= total.t_rm && total.t_vm > 0);
	len = sizeof bufspace;
	MUST(sysctlbyname("vfs.bufspace", &bufspace, &len, NULL, 0) == 0 && bufspace >= 0);
	len = sizeof model;
	MUST(sysctlbyname("hw.model", model, &len, NULL, 0) == 0 && len == strlen(model) + 1);
	MUST(an_int("kern.maxproc") >= getpid() && an_int("kern.lastpid") > 0);
	MUST(an_int("kern.pid_max") == an_int("kern.maxproc") && ARG_MAX > 0);
	int environment[] = { CTL_KERN, KERN_PROC, KERN_PROC_ENV, 1 };
	MUST(sysctl(environment, 4, NULL, &len, NULL, 0) == -1 && errno == ENOENT);
	MUST(an_int("kern.openfiles") > 0 && an_int("kern.hz") == (int)sysconf(_SC_CLK_TCK));
	MUST(an_int("kern.maxfiles") > 0 && an_int("kern.smp.active") == (an_int("hw.ncpu") > 1));
	len = sizeof number;
	MUST(sysctlbyname("vm.stats.sys.v_syscall", &number, &len, NULL, 0) == -1 && errno == ENOENT);
}

/* The templates of stats(3) are those of this process. It has none yet. */
static void
sysctls_of_stats(void)
{
	char templates[8];
	size_t len;

	len = sizeof templates;
	MUST(sysctlbyname("kern.stats.templates", templates, &len, NULL, 0) == 0);
	MUST(len == 1 && templates[0] == '\0');
	MUST(sysctlbyname("kern.stats.templates", NULL, NULL, "a", 2) == -1 && errno == EPERM);
}

static void
sysctls(void)
{
	long cp_time[CPUSTATES], *cp_times;
	struct clockinfo clockrate;
	struct loadavg load;
	struct timeval boottime;
	char hostname[256], host[256];
	unsigned long physmem;
	size_t len, mib_len;
	int mib[CTL_MAXNAME], ncpu;

	mib[0] = CTL_HW;
	mib[1] = HW_NCPU;
	len = sizeof(ncpu);
	MUST(sysctl(mib, 2, &ncpu, &len, NULL, 0) == 0 && ncpu > 0);
	MUST(ncpu == an_int("hw.ncpu") && ncpu == an_int("kern.smp.cpus"));
	mib[1] = HW_PHYSMEM;
	len = sizeof(physmem);
	MUST(sysctl(mib, 2, &physmem, &len, NULL, 0) == 0);
	MUST(an_int("hw.pagesize") == getpagesize());
	MUST(physmem / (unsigned long)getpagesize() ==
	    (unsigned long)an_int("vm.stats.vm.v_page_count"));
	mib[1] = 9999;
	MUST(sysctl(mib, 2, NULL, &len, NULL, 0) == -1 && errno == ENOENT);
	MUST(an_int("kern.osreldate") == getosreldate());

	mib[0] = CTL_KERN;
	mib[1] = KERN_BOOTTIME;
	len = sizeof(boottime);
	MUST(sysctl(mib, 2, &boottime, &len, NULL, 0) == 0);
	MUST(boottime.tv_sec > 0 && boottime.tv_sec <= time(NULL));
	mib[1] = KERN_HOSTNAME;
	len = sizeof(hostname);
	MUST(sysctl(mib, 2, hostname, &len, NULL, 0) == 0);
	MUST(gethostname(host, sizeof(host)) == 0 && strcmp(host, hostname) == 0);
	MUST(len == strlen(host) + 1);
	len = 1;
	MUST(sysctl(mib, 2, hostname, &len, NULL, 0) == -1 && errno == ENOMEM);
	MUST(len == 1 && hostname[0] == host[0]);
	MUST(sysctl(mib, 2, NULL, NULL, "other", 5) == -1 && errno == EPERM);

	len = sizeof(clockrate);
	MUST(sysctlbyname("kern.clockrate", &clockrate, &len, NULL, 0) == 0);
	MUST(clockrate.stathz == sysconf(_SC_CLK_TCK));
	len = sizeof(load);
	MUST(sysctlbyname("vm.loadavg", &load, &len, NULL, 0) == 0);
	MUST(load.fscale == FSCALE);

	mib_len = nitems(mib);
	MUST(sysctlnametomib("kern.cp_time", mib, &mib_len) == 0);
	len = sizeof(cp_time);
	MUST(sysctl(mib, (u_int)mib_len, cp_time, &len, NULL, 0) == 0);
	MUST(len == sizeof(cp_time) && cp_time[CP_IDLE] > 0);
	MUST(sysctlbyname("kern.cp_times", NULL, &len, NULL, 0) == 0);
	MUST(len == (size_t)ncpu * sizeof(cp_time));
	if ((cp_times = (long *)malloc(len)) == NULL)
		err(EX_OSERR, "malloc");
	MUST(sysctlbyname("kern.cp_times", cp_times, &len, NULL, 0) == 0);
	MUST(cp_times[CP_IDLE] > 0 && cp_times[CP_IDLE] <= cp_time[CP_IDLE] + 1000);
	free(cp_times);
	mib_len = 1;
	MUST(sysctlnametomib("kern.cp_time", mib, &mib_len) == -1 && errno == ENOMEM);
	MUST(sysctlnametomib("kern.nothing", mib, &mib_len) == -1 && errno == ENOENT);
}

int
main(int argc, char **argv)
{
	struct winsize window;

	if (ioctl(fileno(stdout), TIOCGWINSZ, &window) == -1)
		window.ws_row = 20;
	MUST(window.ws_row < 10000);
	if (argc != 1)
		usage();
	setprogname(argv[0]);
	MUST(strcmp(getprogname(), strrchr(argv[0], '/') + 1) == 0);
	binary_times(0);
	uptimes();
	swaps_and_blocks();
	queues();
	for (argc = 0; argc < 4; argc++)
		items[argc].value = argc + 1;
	lists();
	singles();
	tails();
	boths();
#ifdef __cplusplus
	classes();
#endif
	texts();
	options();
	sysctls();
	sysctls_of_memory();
	sysctls_of_stats();
#ifdef __cplusplus
	MUST(*std::make_shared<std::string>("C++") == "C++");
#endif
	return (EX_OK);
}
