/*
 * The data of the RAW kstat unix:0:var, with the names and the order of Solaris' <sys/var.h>.
 *
 * Units:  as the fields say. A field that Linux does not have is 0.
 * Source: docs/host-kstats.md names the file of Linux behind each field.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_VAR_H
#define _BLKSCOPE_SOLARIS_SYS_VAR_H

struct var {
    int v_buf, v_call;
    int v_proc; /* the limit of processes and threads of the system */
    int v_maxupttl, v_nglobpris, v_maxsyspri, v_clist;
    int v_maxup; /* the limit of processes and threads of one user */
    int v_hbuf, v_hmask, v_pbuf, v_sptmap, v_maxpmem;
    int v_autoup; /* the age in seconds at which dirty pages are written */
    int v_bufhwm;
};

#endif
