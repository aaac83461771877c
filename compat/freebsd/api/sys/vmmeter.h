/*
 * struct vmtotal of FreeBSD, the value of sysctl(3)'s vm.vmtotal. Numbers of memory are pages.
 *
 * Source: FreeBSD's sys/vmmeter.h; the numbers are those of proc(5).
 */
#ifndef _BLKSCOPE_FREEBSD_SYS_VMMETER_H
#define _BLKSCOPE_FREEBSD_SYS_VMMETER_H

#include <stdint.h>

struct vmtotal {
    uint64_t t_vm;     /* virtual memory: what Linux has promised (Committed_AS) */
    uint64_t t_avm;    /* the same: Linux does not count what is active */
    uint64_t t_rm;     /* memory of programs that is resident: anonymous and shared */
    uint64_t t_arm;    /* the same */
    uint64_t t_vmshr;  /* shared memory; Linux has one number */
    uint64_t t_avmshr; /* the same */
    uint64_t t_rmshr;  /* the same */
    uint64_t t_armshr; /* the same */
    uint64_t t_free;   /* free memory */
    int16_t t_rq;      /* threads that run or could */
    int16_t t_dw;      /* threads that wait for a disk */
    int16_t t_pw;      /* 0: waiting for pages */
    int16_t t_sl;      /* 0: sleeping */
    int16_t t_sw;      /* 0: swapped out */
    uint16_t t_pad[3]; /* 0 */
};

#endif
