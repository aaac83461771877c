/*
 * A program in the manner of FreeBSD's own: the three headers are in their order. The templates are
 * static arrays of the macros. Feeds, visits and renders blobs. Prints JSON.
 */
#include <sys/types.h>
#include <sys/param.h>
#include <sys/arb.h>
#include <sys/qmath.h>
#include <sys/stats.h>
#include <sys/sbuf.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define VOI_BYTES 0
#define VOI_RTT 1
#define VOI_WINDOW 3

VNET_DEFINE(int, template_id) = -1;

static int make_template(void) {
    struct voistatspec vss_bytes[] = {STATS_VSS_SUM()};
    struct voistatspec vss_rtt[] = {
        STATS_VSS_MAX(), STATS_VSS_MIN(),
        STATS_VSS_DVHIST32_USR(HBKTS(DVBKT(1), DVBKT(2), DVBKT(5)), 0),
        STATS_VSS_TDGSTCLUST32(20, 4)};
    struct voistatspec vss_window[] = {
        STATS_VSS_CRHIST32_USR(HBKTS(CRBKT(0), CRBKT(1460), CRBKT(14600)), VSD_HIST_LBOUND_INF)};
    struct voistatspec vss_ranges[] = {
        STATS_VSS_DRHIST64_USR(HBKTS(DRBKT(0, 10), DRBKT(10, 100)), VSD_HIST_UBOUND_INF)};
    struct voistatspec vss_exp[] = {STATS_VSS_CRHIST64_EXP(0, 1000, 10, 0, VSD_HIST_UBOUND_INF)};
    int error;

    VNET(template_id) = stats_tpl_alloc("client", 0);
    if (VNET(template_id) < 0) return -VNET(template_id);
    error = stats_tpl_add_voistats(VNET(template_id), VOI_BYTES, "bytes", VSD_DTYPE_INT_U64,
                                   NVSS(vss_bytes), vss_bytes, 0);
    if (!error)
        error = stats_tpl_add_voistats(VNET(template_id), VOI_RTT, "rtt", VSD_DTYPE_INT_ULONG,
                                       NVSS(vss_rtt), vss_rtt, SB_VOI_RELUPDATE);
    if (!error)
        error = stats_tpl_add_voistats(VNET(template_id), VOI_WINDOW, "window", VSD_DTYPE_INT_SLONG,
                                       NVSS(vss_window), vss_window, 0);
    if (!error)
        error = stats_tpl_add_voistats(VNET(template_id), 4, "ranges", VSD_DTYPE_INT_S32,
                                       NVSS(vss_ranges), vss_ranges, 0);
    if (!error)
        error = stats_tpl_add_voistats(VNET(template_id), 5, "exp", VSD_DTYPE_INT_U32,
                                       NVSS(vss_exp), vss_exp, 0);
    return error;
}

static int count(struct sb_visit *sbv, void *usrctx) {
    if (sbv->vs_dsz <= 0 || sbv->vs_data == NULL) return EINVAL;
    ++*(int *)usrctx;
    return 0;
}

int main(void) {
    struct statsblob *sb, *copy = NULL;
    struct sbuf *buf;
    uint64_t sum = 0;
    int i, visited = 0;

    if (make_template() || (sb = stats_blob_alloc(VNET(template_id), 0)) == NULL) return 1;
    for (i = 1; i <= 30; ++i) {
        if (stats_voi_update_abs_u64(sb, VOI_BYTES, i) ||
            stats_voi_update_rel_ulong(sb, VOI_RTT, 1) ||
            stats_voi_update_abs_slong(sb, VOI_WINDOW, 1000 * i - 2000) ||
            stats_voi_update_abs_s32(sb, 4, i - 2) || stats_voi_update_abs_u32(sb, 5, 1 << (i % 16)))
            return 2;
    }
    if (stats_voistat_fetch_u64(sb, VOI_BYTES, VS_STYPE_SUM, &sum) || sum != 465) return 3;
    if (stats_voistat_fetch_s32(sb, VOI_BYTES, VS_STYPE_SUM, &i) != EFTYPE) return 4;
    if (stats_blob_visit(sb, count, &visited) || visited != 9) return 5;
    if (stats_blob_snapshot(&copy, 0, sb, SB_CLONE_ALLOCDST | SB_CLONE_RSTSRC)) return 6;
    buf = sbuf_new_auto();
    if (stats_blob_tostr(copy, buf, SB_STRFMT_JSON, SB_TOSTR_META) || sbuf_finish(buf)) return 7;
    puts(sbuf_data(buf));
    sbuf_delete(buf);
    stats_blob_destroy(copy);
    stats_blob_destroy(sb);
    return 0;
}
