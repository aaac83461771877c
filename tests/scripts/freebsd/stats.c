/*
 * What a subsystem of FreeBSD does with stats(3) and sysctl(3): it has a template, a list of sample rates
 * with its callback, and a handler that shows and replaces the list.
 */
#include <sys/types.h>
#include <sys/stats.h>
#include <sys/sysctl.h>

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define	MUST(true) do { if (!(true)) errx(1, "line %d: not %s", __LINE__, #true); } while (0)

static struct stats_tpl_sample_rate *current;
static int ncurrent, nlocks;

static int
rates_cb(enum stats_tpl_sr_cb_action action, struct stats_tpl_sample_rate **rates, int *nrates, void *ctx)
{
	struct stats_tpl_sample_rate *old;
	int nold;

	(void)ctx;
	switch (action) {
	case TPL_SR_RLOCKED_GET:
		nlocks++;
		/* FALLTHROUGH */
	case TPL_SR_UNLOCKED_GET:
		*rates = current;
		*nrates = ncurrent;
		break;
	case TPL_SR_RUNLOCK:
		nlocks--;
		break;
	case TPL_SR_PUT:
		old = current;
		nold = ncurrent;
		current = *rates;
		ncurrent = *nrates;
		*rates = old;
		*nrates = nold;
		break;
	}
	return (0);
}

static int
sysctl_rates(SYSCTL_HANDLER_ARGS)
{

	(void)arg1;
	(void)arg2;
	return (stats_tpl_sample_rates(oidp, (void *)rates_cb, sizeof(int), req));
}

static int
copyout_text(struct sysctl_req *req, const void *from, size_t len)
{

	if (req->oldlen - req->oldidx < len)
		return (ENOMEM);
	memcpy((char *)req->oldptr + req->oldidx, from, len);
	req->oldidx += len;
	return (0);
}

static int
copyin_text(struct sysctl_req *req, void *to, size_t len)
{

	if (req->newlen - req->newidx < len)
		return (EINVAL);
	memcpy(to, (const char *)req->newptr + req->newidx, len);
	req->newidx += len;
	return (0);
}

static int
rates(char *text, size_t len, const char *newtext)
{
	struct sysctl_req req;

	memset(&req, 0, sizeof(req));
	req.oldptr = text;
	req.oldlen = len;
	req.oldfunc = copyout_text;
	req.newptr = newtext;
	req.newlen = newtext == NULL ? 0 : strlen(newtext) + 1;
	req.newfunc = copyin_text;
	return (sysctl_rates(NULL, NULL, 0, &req));
}

int
main(void)
{
	struct statsblob_tpl *tpl;
	char expected[STATS_TPL_MAX_STR_SPEC_LEN + 8], templates[256], text[256];
	size_t len;
	int id, mib[CTL_MAXNAME];

	MUST((id = stats_tpl_alloc("TCP_DEFAULT", 0)) >= 0);
	MUST(stats_tpl_fetch(id, &tpl) == 0);
	(void)snprintf(expected, sizeof(expected), "\"TCP_DEFAULT\":%u", tpl->mb->tplhash);
	len = sizeof(templates);
	MUST(sysctlbyname("kern.stats.templates", templates, &len, NULL, 0) == 0);
	MUST(strcmp(templates, expected) == 0 && len == strlen(expected) + 1);
	len = CTL_MAXNAME;
	MUST(sysctlnametomib("kern.stats.templates", mib, &len) == 0);

	MUST(rates(text, sizeof(text), NULL) == 0 && text[0] == '\0');
	MUST(rates(text, sizeof(text), "TCP_DEFAULT=25") == 0 && text[0] == '\0');
	MUST(rates(text, sizeof(text), NULL) == 0);
	(void)strncat(expected, "=25", 4);
	MUST(strcmp(text, expected) == 0);
	MUST(rates(text, sizeof(text), "TCP_DEFAULT=125") == EINVAL);
	MUST(rates(text, sizeof(text), "NOSUCH=25") == ESRCH);
	MUST(rates(text, 4, NULL) == ENOMEM);
	MUST(ncurrent == 1 && current[0].tpl_slot_id == id && current[0].tpl_sample_pct == 25);
	MUST(stats_tpl_sample_rollthedice(current, ncurrent, NULL, 0) < 1);
	MUST(rates(text, sizeof(text), "") == 0 && ncurrent == 0);
	MUST(nlocks == 0);
	return (0);
}
