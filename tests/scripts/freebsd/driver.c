/*
 * A driver's statistics as devstat(9) has them. Prints "ready" and publishes until its standard input
 * ends.
 */
#include <sys/types.h>
#include <sys/bio.h>
#include <sys/devicestat.h>

#include <stdio.h>
#include <string.h>

int
main(void)
{
	struct devstat *ds;
	struct bio bp;

	ds = devstat_new_entry("vbd", 3, 512, DEVSTAT_ALL_SUPPORTED,
	    (devstat_type_flags)(DEVSTAT_TYPE_DIRECT | DEVSTAT_TYPE_IF_SCSI),
	    DEVSTAT_PRIORITY_DISK);
	if (ds == NULL)
		return (1);
	memset(&bp, 0, sizeof(bp));
	bp.bio_cmd = BIO_READ;
	bp.bio_bcount = 4096;
	devstat_start_transaction_bio(ds, &bp);
	devstat_end_transaction_bio(ds, &bp);
	(void)puts("ready");
	(void)fflush(stdout);
	(void)getchar();
	devstat_remove_entry(ds);
	return (0);
}
