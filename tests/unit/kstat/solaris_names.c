/*
 * Names that programs for Solaris take from its headers, compiled in each way of CMakeLists.txt. The status
 * is 0 if all values are right, and otherwise 1 with the number of the line.
 */
#include <sys/types.h>
#include <sys/param.h>
#include <sys/atomic.h>
#include <sys/buf.h>
#include <sys/cmn_err.h>
#include <sys/ddi.h>
#include <sys/debug.h>
#include <sys/int_types.h>
#include <sys/inttypes.h>
#include <sys/isa_defs.h>
#include <sys/kmem.h>
#include <sys/loadavg.h>
#include <sys/mkdev.h>
#include <sys/mnttab.h>
#include <sys/processor.h>
#include <sys/procset.h>
#include <sys/pset.h>
#include <sys/sockio.h>
#include <sys/sunddi.h>
#include <sys/sysconf.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <sys/systeminfo.h>
#include <sys/t_lock.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/vmsystm.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zone.h>

#define MUST(what) do {							\
	if (!(what)) {							\
		printf("%d: %s\n", __LINE__, #what);			\
		return 0;						\
	}								\
} while (0)

static int everyday_types(void)
{
	const taskid_t task = -1;
	const projid_t project = -1;
	const poolid_t pool = -1;
	const ctid_t contract = -1;
	const lgrp_id_t group = -1;
	const datalink_id_t link = (datalink_id_t)-1;
	timestruc_t time = { 1, 999999999 };
	timespec_t *same = &time;

	MUST(task < 0 && project < 0 && pool < 0 && contract < 0 && group < 0 && link > 0);
	MUST((u_offset_t)-1 > 0 && sizeof (u_offset_t) == sizeof (offset_t));
	MUST((pfn_t)-1 > 0 && sizeof (pfn_t) == sizeof (pgcnt_t));
	MUST(sizeof (index_t) == 2 && sizeof (o_mode_t) == 2 && sizeof (unchar) == 1);
	MUST(same->tv_nsec == NANOSEC - 1);
	return 1;
}

static int pages(void)
{
	char name[MAXNAMELEN];
	const long size = PAGESIZE;

	MUST(sizeof name == 256);
	MUST(size == sysconf(_SC_PAGESIZE) && size == 1L << PAGESHIFT);
	MUST(ptob(3L) == 3 * size && btop(3 * size + 1) == 3 && btopr(3 * size + 1) == 4);
	/* Bytes beyond 32 bits, as readers of kstats pass them. */
	MUST(ptob((uint64_t)1 << 40) == ((uint64_t)1 << 40) * (uint64_t)size);
	return 1;
}

static int load(void)
{
	double means[LOADAVG_NSTATS];

	MUST(getloadavg(means, LOADAVG_NSTATS) == 3);
	MUST(means[LOADAVG_1MIN] >= 0 && means[LOADAVG_15MIN] >= 0);
	return 1;
}

static int machine(void)
{
	const union { uint32_t number; unsigned char bytes[4]; } one = { 1 };
#ifdef _LITTLE_ENDIAN
	const int first = 0;
#endif
#ifdef _BIG_ENDIAN
	const int first = 3;
#endif
#ifdef _LP64
	const int width = 8;
#endif
#ifdef _ILP32
	const int width = 4;
#endif
	const dev_t device = makedev(43, 5);

	MUST(one.bytes[first] == 1 && sizeof (void *) == width);
	MUST(major(device) == 43 && minor(device) == 5 && device != NODEV);
	MUST(makedevice(getmajor(device), getminor(device)) == device);
	MUST(SIOCGIFCONF != 0 && P_PID != P_LWPID && P_MYID == -1);
	return 1;
}

static int zones(void)
{
	char name[ZONENAME_MAX];

	MUST(getzoneid() == GLOBAL_ZONEID && getzoneidbyname("global") == 0);
	MUST(getzonenamebyid(0, name, sizeof name) == 7 && strcmp(name, "global") == 0);
	MUST(getzonenamebyid(0, NULL, 0) == 7);
	strcpy(name, "xxxxxxx");
	MUST(getzonenamebyid(0, name, 2) == 7 && strcmp(name, "glxxxxx") == 0);
	errno = 0;
	MUST(getzonenamebyid(1, name, sizeof name) == -1 && errno == EINVAL);
	errno = 0;
	MUST(getzoneidbyname("other") == -1 && errno == EINVAL);
	return 1;
}

static int atomics(void)
{
	volatile uint32_t small = 1;
	volatile uint64_t large = 0;
	volatile uint_t number = 0;
	volatile ulong_t word = 0;
	int things[2];
	void *at = &things[0];

	atomic_inc_32(&small);
	MUST(atomic_add_32_nv(&small, -3) == 0xffffffff && atomic_inc_32_nv(&small) == 0);
	atomic_add_64(&large, -1);
	MUST(large == ~(uint64_t)0 && atomic_dec_64_nv(&large) == ~(uint64_t)1);
	MUST(atomic_cas_64(&large, 3, 4) == ~(uint64_t)1 && large == ~(uint64_t)1);
	MUST(atomic_cas_64(&large, ~(uint64_t)1, 4) == ~(uint64_t)1 && large == 4);
	MUST(atomic_swap_64(&large, 8) == 4 && large == 8);
	atomic_or_uint(&number, 5);
	atomic_and_uint(&number, 4);
	atomic_add_int(&number, 2);
	MUST(number == 6);
	atomic_add_long(&word, 7);
	atomic_dec_ulong(&word);
	MUST(word == 6);
	MUST(atomic_cas_ptr(&at, &things[1], NULL) == &things[0] && at == &things[0]);
	MUST(atomic_add_ptr_nv(&at, sizeof things[0]) == &things[1] && at == &things[1]);
	MUST(atomic_swap_ptr(&at, NULL) == &things[1] && at == NULL);
	membar_enter();
	membar_producer();
	membar_consumer();
	membar_exit();
	return 1;
}

/* The text that is written to standard error meanwhile. */
static const char *said(void (*say)(void))
{
	static char text[100];
	const int error_output = dup(2);
	ssize_t length;
	int ends[2];

	if (pipe(ends) == -1 || dup2(ends[1], 2) == -1)
		return "no pipe";
	close(ends[1]);
	say();
	fflush(stderr);
	dup2(error_output, 2);
	close(error_output);
	length = read(ends[0], text, sizeof text - 1);
	close(ends[0]);
	text[length > 0 ? length : 0] = '\0';
	return text;
}

static void warn(void) { cmn_err(CE_WARN, "!disk %d: %s", 3, "slow"); }
static void note(void) { cmn_err(CE_NOTE, "^a note"); }
static void text(void) { cmn_err(CE_CONT, "?a part, "); cmn_err(CE_IGNORE, "nothing"); }

static int drivers(void)
{
	static const char nothing[100] = "";
	char *const memory = (char *)kmem_zalloc(sizeof nothing, KM_SLEEP);
	kmutex_t lock;
	int calls = 0;
	int64_t before;

	MUST(memory != NULL && memcmp(memory, nothing, sizeof nothing) == 0);
	kmem_free(memory, sizeof nothing);
	MUST(sizeof lock > 0 && MUTEX_DRIVER != MUTEX_SPIN);

	VERIFY(++calls == 1);
	ASSERT(++calls == 0); /* not evaluated */
	VERIFY3S(-1, <, calls);
	VERIFY3U(-1, >, calls);
	VERIFY0(calls - 1);

	MUST(drv_usectohz(1) == 1 && drv_hztousec(3) == 3 * 1000000 / sysconf(_SC_CLK_TCK));
	before = ddi_get_lbolt64();
	delay(2);
	MUST(ddi_get_lbolt64() >= before + 2 && DDI_SUCCESS != DDI_FAILURE);
	MUST(ddi_get_time() > 1500000000);

	MUST(strcmp(said(warn), "WARNING: disk 3: slow\n") == 0);
	MUST(strcmp(said(note), "NOTICE: a note\n") == 0);
	MUST(strcmp(said(text), "a part, ") == 0);
	return 1;
}

static int system_texts(void)
{
	static const int commands[] = { SI_SYSNAME, SI_HOSTNAME, SI_RELEASE, SI_VERSION, SI_MACHINE,
	    SI_ARCHITECTURE, SI_HW_SERIAL, SI_HW_PROVIDER, SI_SRPC_DOMAIN, SI_PLATFORM, SI_ISALIST,
	    SI_ARCHITECTURE_32, SI_ARCHITECTURE_64, SI_ARCHITECTURE_K, SI_ARCHITECTURE_NATIVE };
	struct utsname names;
	struct sysinfo linux_info;
	char text[300];
	size_t i;

	for (i = 0; i < sizeof commands / sizeof commands[0]; i++)
		MUST(sysinfo(commands[i], text, sizeof text) == (int)strlen(text) + 1);
	uname(&names);
	MUST(sysinfo(SI_SYSNAME, text, 3) == 6 && strcmp(text, "Li") == 0);
	MUST(sysinfo(SI_SYSNAME, NULL, 0) == 6);
	MUST(sysinfo(SI_SYSNAME, text, -1) == -1 && errno == EINVAL);
	MUST(sysinfo(SI_HOSTNAME, text, sizeof text) > 1 && strcmp(text, names.nodename) == 0);
	MUST(sysinfo(SI_MACHINE, text, sizeof text) > 1 && strcmp(text, names.machine) == 0);
	if (strcmp(names.machine, "x86_64") == 0) {
		MUST(sysinfo(SI_ARCHITECTURE, text, sizeof text) == 5 && strcmp(text, "i386") == 0);
		MUST(sysinfo(SI_ISALIST, text, sizeof text) == 11 && strcmp(text, "amd64 i386") == 0);
		MUST(sysinfo(SI_ARCHITECTURE_K, text, sizeof text) == 6 && strcmp(text, "amd64") == 0);
	}
	errno = 0;
	MUST(sysinfo(10, text, sizeof text) == -1 && errno == EINVAL);
	/* Linux' own function of this name. */
	MUST(sysinfo(&linux_info) == 0 && linux_info.totalram > 0);
	return 1;
}

static int processors(void)
{
	processorid_t list[1024], bound = 77;
	double means[3];
	uint_t count = 1, known = sizeof list / sizeof list[0], i;
	int type = PS_PRIVATE;

	MUST(pset_info(PS_MYID, &type, &known, list) == 0 && type == PS_NONE && known > 0);
	MUST(pset_info(PS_NONE, NULL, NULL, NULL) == 0);
	list[1] = -5;
	MUST(pset_info(PS_NONE, NULL, &count, list) == 0 && count == known && list[1] == -5);
	count = sizeof list / sizeof list[0];
	MUST(pset_info(PS_NONE, NULL, &count, list) == 0);
	MUST(pset_getloadavg(PS_MYID, means, 3) == 3);
	errno = 0;
	MUST(pset_getloadavg(3, means, 3) == -1 && errno == EINVAL);
	errno = 0;
	MUST(pset_info(3, NULL, NULL, NULL) == -1 && errno == EINVAL);

	/* A processor that this process may use: a container may lack the others. */
	for (i = 0; i < count && processor_bind(P_LWPID, P_MYID, list[i], NULL) == -1; i++)
		continue;
	MUST(i < count);
	MUST(processor_bind(P_PID, P_MYID, PBIND_QUERY, &bound) == 0 && bound == list[i]);
	MUST(processor_bind(P_PID, getpid(), PBIND_NONE, &bound) == 0 && bound == list[i]);
	MUST(processor_bind(P_PID, P_MYID, list[i], NULL) == 0);
	MUST(processor_bind(P_LWPID, getpid(), PBIND_QUERY, &bound) == 0 && bound == list[i]);
	errno = 0;
	MUST(processor_bind(P_PID, P_MYID, 100000, NULL) == -1 && errno == EINVAL);
	errno = 0;
	MUST(processor_bind(P_PID, 0x7fffffff, PBIND_QUERY, NULL) == -1 && errno == ESRCH);
	errno = 0;
	MUST(processor_bind(P_ALL, P_MYID, PBIND_QUERY, NULL) == -1 && errno == EINVAL);
	return 1;
}

static int small_computations(void)
{
	MUST(ISP2(64) && !ISP2(65) && IS_P2ALIGNED(4096, 512));
	MUST(P2ALIGN(1023, 512) == 512 && P2ROUNDUP(513, 512) == 1024 && P2END(512, 512) == 1024);
	MUST(P2PHASE(515, 512) == 3 && P2NPHASE(515, 512) == 509 && P2PHASEUP(100, 64, 3) == 131);
	MUST(P2BOUNDARY(511, 2, 512) && !P2BOUNDARY(0, 512, 512));
	MUST(P2SAMEHIGHBIT(5, 7) && !P2SAMEHIGHBIT(5, 8));
	MUST(P2ROUNDUP_TYPED(5, 8, uint64_t) == 8 && P2ALIGN_TYPED(15, 8, uint64_t) == 8);
	MUST(SIGNOF(-7) == -1 && SIGNOF(0) == 0 && SIGNOF(7) == 1 && ABS(-7) == 7);
	MUST(btod(513) == 2 && btodt(1023) == 1 && dtob(2) == 1024 && lbtod(1) == 1);
	MUST(lbtodb(1024) == 2 && ldbtob(3) == 1536 && ptokb(kbtop(64)) == 64);
	MUST(ptod(1) == PAGESIZE / DEV_BSIZE && (PAGEMASK & PAGEOFFSET) == 0);
	return 1;
}

static int requests(void)
{
	struct buf *const bp = getrbuf(KM_SLEEP);
	dev_info_t floppy = { "fd", 2, NULL };
	int data;

	MUST(ddi_get_instance(&floppy) == 2 && strcmp(ddi_driver_name(&floppy), "fd") == 0);
	ddi_set_driver_private(&floppy, &data);
	MUST(ddi_get_driver_private(&floppy) == &data);

	MUST(bp->b_flags == B_BUSY && geterror(bp) == 0);
	biodone(bp);
	MUST(biowait(bp) == 0 && (bp->b_flags & B_DONE) != 0);
	bioreset(bp);
	bioerror(bp, ENXIO);
	biodone(bp);
	MUST(biowait(bp) == ENXIO);
	bioerror(bp, 0);
	MUST(geterror(bp) == 0);
	bp->b_flags |= B_ERROR;
	MUST(geterror(bp) == EIO);
	freerbuf(bp);
	return 1;
}

/* The root is mounted, with the number of its device. A blank in a name is a blank. */
static int mounts(void)
{
	char line[] = "36 35 98:0 / /a\\040b rw,noatime shared:1 - ext3 /dev/sda\\0401 rw\n";
	struct extmnttab mount;
	struct mnttab root, wanted = { NULL, NULL, NULL, NULL, NULL };
	char slash[] = "/";
	FILE *const table = fopen(MNTTAB, "r");

	MUST(table != NULL);
	wanted.mnt_mountp = slash;
	MUST(getmntany(table, &root, &wanted) == 0 && strcmp(root.mnt_mountp, "/") == 0);
	MUST(hasmntopt(&root, "rw") != NULL || hasmntopt(&root, "ro") != NULL);
	MUST(hasmntopt(&root, "r") == NULL);
	resetmnttab(table);
	while (getmntent(table, &root) == 0)
		continue;
	MUST(getextmntent(table, &mount, sizeof mount) == -1);
	fclose(table);

	MUST(_blkscope_parse_mount(line, &mount) == 0 && mount.mnt_major == 98 && mount.mnt_minor == 0);
	MUST(strcmp(mount.mnt_mountp, "/a b") == 0 && strcmp(mount.mnt_special, "/dev/sda 1") == 0);
	MUST(strcmp(mount.mnt_fstype, "ext3") == 0 && strcmp(mount.mnt_mntopts, "rw,noatime") == 0);
	return 1;
}

int main(void)
{
	return !(small_computations() && requests() && mounts() && everyday_types() && pages() && load() && machine() && zones() && atomics() &&
	    drivers() && system_texts() && processors());
}
