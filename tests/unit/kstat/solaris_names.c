/*
 * Names that programs for Solaris take from its headers, compiled in each way of CMakeLists.txt. The status
 * is 0 if all values are right, and otherwise 1 with the number of the line.
 */
#include <sys/types.h>
#include <sys/param.h>
#include <sys/loadavg.h>
#include <sys/time.h>

#include <stdio.h>

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

int main(void)
{
	return !(everyday_types() && pages() && load());
}
