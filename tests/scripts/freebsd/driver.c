/*
 * A driver's statistics as devstat(9) has them, of a disk that reads, and of three idle devices.
 * Prints "ready" and publishes until its standard input ends.
 */
#include <sys/types.h>
#include <sys/bio.h>
#include <sys/devicestat.h>

#include <stdio.h>
#include <string.h>

static struct devstat *
idle(const char *name, int type, devstat_priority priority)
{

	return (devstat_new_entry(name, 0, 0, DEVSTAT_NO_BLOCKSIZE,
	    (devstat_type_flags)(type | DEVSTAT_TYPE_IF_NVME), priority));
}

int
main(void)
{
	struct devstat *ds, *cd, *sa, *pass;
	struct bio bp;

	ds = devstat_new_entry("vbd", 3, 512, DEVSTAT_ALL_SUPPORTED,
	    (devstat_type_flags)(DEVSTAT_TYPE_DIRECT | DEVSTAT_TYPE_IF_SCSI),
	    DEVSTAT_PRIORITY_DISK);
	cd = idle("cd", DEVSTAT_TYPE_CDROM, DEVSTAT_PRIORITY_CD);
	sa = idle("sa", DEVSTAT_TYPE_SEQUENTIAL, DEVSTAT_PRIORITY_TAPE);
	pass = idle("pass", DEVSTAT_TYPE_DIRECT | DEVSTAT_TYPE_PASS, DEVSTAT_PRIORITY_PASS);
	if (ds == NULL || cd == NULL || sa == NULL || pass == NULL)
		return (1);
	memset(&bp, 0, sizeof(bp));
	bp.bio_cmd = BIO_READ;
	bp.bio_bcount = 4096;
	devstat_start_transaction_bio(ds, &bp);
	devstat_end_transaction_bio(ds, &bp);
	(void)puts("ready");
	(void)fflush(stdout);
	(void)getchar();
	devstat_remove_entry(pass);
	devstat_remove_entry(sa);
	devstat_remove_entry(cd);
	devstat_remove_entry(ds);
	return (0);
}
