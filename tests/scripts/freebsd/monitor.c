/*
 * A monitor as a FreeBSD programmer writes it. The header files are in the order of style(9). Two
 * statinfos are swapped; then come a selection and figures. C and C++ compilers both take this file.
 */
#include <sys/types.h>
#include <sys/param.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <devstat.h>
#include <err.h>
#include <inttypes.h>
#include <kvm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct statinfo cur, last;
static kvm_t *kd = NULL;

static void
look(void)
{

	if (devstat_getdevs(kd, &cur) == -1)
		errx(1, "%s", devstat_errbuf);
}

int
main(void)
{
	struct device_selection *dev_select = NULL;
	struct devstat_match *matches = NULL;
	long select_generation;
	int i, num_matches = 0, num_selected, num_selections;
	char type[] = "da";

	if (devstat_checkversion(kd) < 0)
		errx(1, "%s", devstat_errbuf);
	if (devstat_getnumdevs(kd) < 0)
		err(1, "can't get number of devices");

	cur.dinfo = (struct devinfo *)calloc(1, sizeof(struct devinfo));
	last.dinfo = (struct devinfo *)calloc(1, sizeof(struct devinfo));
	if (cur.dinfo == NULL || last.dinfo == NULL)
		err(1, "calloc");
	cur.cp_time[CP_IDLE] = CPUSTATES;
	look();

	if (devstat_buildmatch(type, &matches, &num_matches) != 0)
		errx(1, "%s", devstat_errbuf);
	if (devstat_selectdevs(&dev_select, &num_selected, &num_selections,
	    &select_generation, cur.dinfo->generation, cur.dinfo->devices,
	    cur.dinfo->numdevs, matches, num_matches, NULL, 0, DS_SELECT_ONLY,
	    10, 0) == -1)
		errx(1, "%s", devstat_errbuf);

	for (i = 0; i < num_selected; i++) {
		struct devstat *dev;
		u_int64_t bytes, transfers, queue;
		long double ms, busy;

		dev = &cur.dinfo->devices[dev_select[i].position];
		if (devstat_compute_statistics(dev, NULL,
		    devstat_compute_etime(&dev->creation_time, NULL),
		    DSM_TOTAL_BYTES, &bytes, DSM_TOTAL_TRANSFERS, &transfers,
		    DSM_QUEUE_LENGTH, &queue, DSM_MS_PER_TRANSACTION, &ms,
		    DSM_BUSY_PCT, &busy, DSM_NONE) != 0)
			errx(1, "%s", devstat_errbuf);
		printf("%s%d %" PRIu64 " bytes %" PRIu64 " transfers\n",
		    dev->device_name, dev->unit_number, bytes, transfers);
	}
	free(cur.dinfo->mem_ptr);
	free(cur.dinfo);
	free(last.dinfo);
	free(dev_select);
	free(matches);
	return (0);
}
