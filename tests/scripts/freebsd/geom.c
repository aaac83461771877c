/*
 * The functions that monitors use beside libdevstat: libgeom's snapshots and names, sysctlbyname, and
 * libkvm, whose handle means this machine. C and C++ compilers both take this file.
 */
#include <sys/types.h>
#include <sys/sysctl.h>

#include <devstat.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <kvm.h>
#include <libgeom.h>
#include <limits.h>
#include <nlist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
#define A_PROVIDER gident::ISPROVIDER
#else
#define A_PROVIDER ISPROVIDER
#endif

static void
providers(void)
{
	struct devstat *entry;
	struct gident *id;
	struct gmesh mesh;
	struct timespec when;
	void *snapshot;

	if (geom_gettree(&mesh) != 0 || geom_stats_open() != 0)
		err(1, "geom");
	if (geom_stats_open() != EBUSY)
		errx(1, "opened twice");
	if ((snapshot = geom_stats_snapshot_get()) == NULL)
		err(1, "geom_stats_snapshot_get");
	geom_stats_snapshot_timestamp(snapshot, &when);
	if (when.tv_sec < 1000000000)
		errx(1, "no time of the day");
	while ((entry = geom_stats_snapshot_next(snapshot)) != NULL) {
		u_int64_t bytes;
		struct gprovider *provider;

		if (entry->id == NULL)
			continue;
		if ((id = geom_lookupid(&mesh, entry->id)) == NULL ||
		    id->lg_what != A_PROVIDER)
			errx(1, "no provider");
		provider = (struct gprovider *)id->lg_ptr;
		if (devstat_compute_statistics(entry, NULL, 1.0,
		    DSM_TOTAL_BYTES, &bytes, DSM_NONE) != 0)
			errx(1, "%s", devstat_errbuf);
		if (bytes == 0)
			continue;
		printf("%s %s rank %u: %" PRIu64 " bytes\n",
		    provider->lg_geom->lg_class->lg_name, provider->lg_name,
		    provider->lg_geom->lg_rank, bytes);
	}
	geom_stats_snapshot_free(snapshot);
	geom_stats_close();
	geom_stats_close();
	if (geom_stats_open() != 0)
		err(1, "not closed");
	geom_stats_close();
	geom_deletetree(&mesh);
}

static void
sysctls(void)
{
	struct devstat *devices;
	long cp_time[CPUSTATES];
	size_t len, short_len;
	char *all, disks[256];
	int numdevs;

	len = sizeof(numdevs);
	if (sysctlbyname("kern.devstat.numdevs", &numdevs, &len, NULL, 0) != 0)
		err(1, "kern.devstat.numdevs");
	if (sysctlbyname("kern.devstat.all", NULL, &len, NULL, 0) != 0)
		err(1, "kern.devstat.all");
	if (len != sizeof(long) + numdevs * sizeof(struct devstat))
		errx(1, "kern.devstat.all has %zu bytes", len);
	if ((all = (char *)malloc(len)) == NULL)
		err(1, "malloc");
	short_len = len - 1;
	if (sysctlbyname("kern.devstat.all", all, &short_len, NULL, 0) == 0 ||
	    errno != ENOMEM)
		errx(1, "too small a buffer was enough");
	if (sysctlbyname("kern.devstat.all", all, &len, NULL, 0) != 0)
		err(1, "kern.devstat.all");
	devices = (struct devstat *)(void *)(all + sizeof(long));
	printf("%d devices, the first is %s%d\n", numdevs,
	    devices[0].device_name, devices[0].unit_number);
	free(all);
	len = sizeof(disks);
	if (sysctlbyname("kern.disks", disks, &len, NULL, 0) != 0)
		err(1, "kern.disks");
	printf("disks: %s\n", disks);
	len = sizeof(cp_time);
	if (sysctlbyname("kern.cp_time", cp_time, &len, NULL, 0) != 0 ||
	    cp_time[CP_USER] + cp_time[CP_SYS] + cp_time[CP_IDLE] <= 0)
		errx(1, "kern.cp_time");
	if (sysctlbyname("kern.nothing", NULL, &len, NULL, 0) == 0 ||
	    errno != ENOENT)
		errx(1, "kern.nothing is something");
}

/* A handle for this machine is as good as NULL; of another one there is none. */
static void
kernel(void)
{
	static struct nlist namelist[] = {
		{ "_tk_nin", 0, 0, 0, 0 },
		{ NULL, 0, 0, 0, 0 },
	};
	char errbuf[_POSIX2_LINE_MAX];
	double load[3];
	kvm_t *kd;
	long cp_time[CPUSTATES], ticks;

	if ((kd = kvm_openfiles(NULL, "/dev/null", NULL, O_RDONLY, errbuf)) == NULL)
		errx(1, "kvm_openfiles: %s", errbuf);
	if (devstat_checkversion(kd) != 0 || devstat_getnumdevs(kd) != 4)
		errx(1, "%s", devstat_errbuf);
	if (kvm_nlist(kd, namelist) != 1 || namelist[0].n_value != 0 ||
	    kvm_read(kd, namelist[0].n_value, &ticks, sizeof(ticks)) != -1)
		errx(1, "kernel memory");
	if (kvm_getcptime(kd, cp_time) != 0 || cp_time[CP_IDLE] <= 0)
		errx(1, "kvm_getcptime");
	if (kvm_getloadavg(kd, load, 3) != 3)
		errx(1, "kvm_getloadavg");
	printf("%s\n", kvm_geterr(kd));
	(void)kvm_close(kd);
	if (kvm_openfiles(NULL, "vmcore.0", NULL, O_RDONLY, errbuf) != NULL)
		errx(1, "a handle of a core");
	printf("%s\n", errbuf);
}

int
main(void)
{

	kernel();
	sysctls();
	providers();
	return (0);
}
