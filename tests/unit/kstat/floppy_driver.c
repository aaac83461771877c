/*
 * The driver of a floppy disk, in the forms of a driver for Solaris: attach(9E), strategy(9E), a start
 * function and the counts at the end. The medium is an array. The status is 0 if the IO kstat has what the
 * requests were, and otherwise 1 with the number of the line.
 */
#include <sys/types.h>
#include <sys/buf.h>
#include <sys/ddi.h>
#include <sys/kstat.h>
#include <sys/sunddi.h>

#include <stdio.h>
#include <string.h>

#define MUST(what) do {							\
	if (!(what)) {							\
		printf("%d: %s\n", __LINE__, #what);			\
		return 1;						\
	}								\
} while (0)

#define BLOCKS 16

struct fdunit {
	kstat_t *un_iostat;
	char un_medium[BLOCKS * DEV_BSIZE];
};

struct fdctlr {
	struct fdunit *c_un;
	kmutex_t c_lolock;
	struct buf *c_actf, *c_actl;
};

#define KIOSP	KSTAT_IO_PTR(un->un_iostat)

static struct fdunit unit;
static struct fdctlr controller = { .c_un = &unit };

static int fd_attach(dev_info_t *, ddi_attach_cmd_t);
static int fd_strategy(struct buf *);
static void fdstart(struct fdctlr *);

static struct fdctlr *
fd_getctlr(dev_t dev)
{

	return (getminor(dev) == 0 ? &controller : NULL);
}

static int
fd_attach(dev_info_t *dip, ddi_attach_cmd_t cmd)
{
	struct fdctlr *fdc = &controller;

	if (cmd != DDI_ATTACH || ddi_get_instance(dip) != 0)
		return (DDI_FAILURE);
	ddi_set_driver_private(dip, fdc);
	mutex_init(&fdc->c_lolock, NULL, MUTEX_DRIVER, NULL);
	fdc->c_un->un_iostat = kstat_create("fd", 0, "fd0", "disk",
	    KSTAT_TYPE_IO, 1, KSTAT_FLAG_PERSISTENT);
	if (fdc->c_un->un_iostat) {
		fdc->c_un->un_iostat->ks_lock = &fdc->c_lolock;
		fdc->c_un->un_iostat->ks_update = default_kstat_update;
		kstat_install(fdc->c_un->un_iostat);
	}
	ddi_report_dev(dip);
	return (DDI_SUCCESS);
}

static int
fd_strategy(register struct buf *bp)
{
	struct fdctlr *fdc;
	struct fdunit *un;

	fdc = fd_getctlr(bp->b_edev);
	un = fdc->c_un;
	if (bp->b_blkno > BLOCKS) {
		bp->b_resid = bp->b_bcount;
		bioerror(bp, EINVAL);
		biodone(bp);
		return (0);
	}

	mutex_enter(&fdc->c_lolock);
	if (fdc->c_actf)
		fdc->c_actl->av_forw = bp;
	else
		fdc->c_actf = bp;
	fdc->c_actl = bp;
	bp->av_forw = NULL;
	/* Mark I/O as waiting on wait q */
	if (un->un_iostat) {
		kstat_waitq_enter(KIOSP);
	}
	fdstart(fdc);
	mutex_exit(&fdc->c_lolock);
	return (0);
}

static void
fdstart(struct fdctlr *fdc)
{
	struct buf *bp;
	struct fdunit *un = fdc->c_un;
	size_t left;
	char *block;

	while ((bp = fdc->c_actf) != NULL) {
		/* Mark I/O as active, move from wait to active q */
		if (un->un_iostat) {
			kstat_waitq_to_runq(KIOSP);
		}
		block = un->un_medium + dbtob(bp->b_blkno);
		left = sizeof (un->un_medium) - dbtob(bp->b_blkno);
		bp->b_resid = bp->b_bcount - MIN(bp->b_bcount, left);
		bp_mapin(bp);
		if (bp->b_flags & B_READ)
			bcopy(block, bp->b_un.b_addr, bp->b_bcount - bp->b_resid);
		else
			bcopy(bp->b_un.b_addr, block, bp->b_bcount - bp->b_resid);

		/* Mark I/O as complete */
		if (un->un_iostat) {
			if (bp->b_flags & B_READ) {
				KIOSP->reads++;
				KIOSP->nread +=
				    (bp->b_bcount - bp->b_resid);
			} else {
				KIOSP->writes++;
				KIOSP->nwritten += (bp->b_bcount - bp->b_resid);
			}
			kstat_runq_exit(KIOSP);
		}
		fdc->c_actf = bp->av_forw;
		biodone(bp);
	}
}

static int
transfer(int flags, diskaddr_t block, char *data, size_t bytes, size_t *resid)
{
	struct buf *bp = getrbuf(KM_SLEEP);
	int error;

	bp->b_flags |= flags;
	bp->b_edev = makedevice(36, 0);
	bp->b_blkno = block;
	bp->b_un.b_addr = data;
	bp->b_bcount = bytes;
	(void) fd_strategy(bp);
	error = biowait(bp);
	*resid = bp->b_resid;
	freerbuf(bp);
	return (error);
}

int
main(void)
{
	dev_info_t floppy = { "fd", 0, NULL };
	const struct fdunit *un = &unit;
	char out[2048], in[2048];
	size_t resid;

	(void) memset(out, 'x', sizeof (out));
	MUST(fd_attach(&floppy, DDI_RESUME) == DDI_FAILURE);
	MUST(fd_attach(&floppy, DDI_ATTACH) == DDI_SUCCESS);
	MUST(ddi_get_driver_private(&floppy) == &controller);
	MUST(un->un_iostat != NULL);

	MUST(transfer(B_WRITE, 2, out, sizeof (out), &resid) == 0 && resid == 0);
	MUST(transfer(B_READ, 2, in, sizeof (in), &resid) == 0 && resid == 0);
	MUST(memcmp(in, out, sizeof (in)) == 0);
	MUST(transfer(B_READ, BLOCKS - 1, in, sizeof (in), &resid) == 0);
	MUST(resid == sizeof (in) - DEV_BSIZE);
	MUST(transfer(B_READ, BLOCKS + 1, in, sizeof (in), &resid) == EINVAL);

	MUST(KIOSP->reads == 2 && KIOSP->nread == 2048 + DEV_BSIZE);
	MUST(KIOSP->writes == 1 && KIOSP->nwritten == 2048);
	MUST(KIOSP->wcnt == 0 && KIOSP->rcnt == 0 && KIOSP->rlastupdate > 0);
	kstat_delete(un->un_iostat);
	return (0);
}
