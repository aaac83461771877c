/*
 * libkvm, FreeBSD's access to kernel memory. Here there is no such access: programs that use libkvm
 * compile, and link with -lkvm. One handle exists, for this machine. libdevstat treats the handle
 * as NULL, and no memory can be read through the handle.
 *
 * Ownership: the handle belongs to the library; kvm_close frees nothing.
 * Threads:   any.
 * Errors:    as each function says.
 */
#ifndef _KVM_H
#define _KVM_H

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct __kvm kvm_t;

/* A symbol that is looked up, as FreeBSD's <nlist.h> has it. */
#if !defined(_BLKSCOPE_NLIST) && !defined(__A_OUT_GNU_H__) /* <a.out.h> has one of its own */
#define _BLKSCOPE_NLIST
#define N_NLIST_DECLARED /* which <a.out.h> then leaves out */
struct nlist {
    const char *n_name;
    unsigned char n_type;
    char n_other;
    short n_desc;
    unsigned long n_value;
};
#endif

/*
 * The handle, where corefile is NULL, /dev/mem or /dev/null. Of another file NULL, and why is in
 * errbuf (of _POSIX2_LINE_MAX bytes), or behind errstr on standard error.
 */
kvm_t *kvm_openfiles(const char *execfile, const char *corefile, const char *swapfile, int flags,
                     char *errbuf);
kvm_t *kvm_open(const char *execfile, const char *corefile, const char *swapfile, int flags,
                const char *errstr);

int kvm_close(kvm_t *kd);                          /* 0 */
char *kvm_geterr(kvm_t *kd);                       /* why nothing can be read */
int kvm_nlist(kvm_t *kd, struct nlist *nl);        /* how many there are: none is found */
ssize_t kvm_read(kvm_t *kd, unsigned long address, /* -1 */
                 void *buf, size_t nbytes);
ssize_t kvm_kread(kvm_t *kd, unsigned long address, /* the same, as Solaris calls it */
                  void *buf, size_t nbytes);
int kvm_getcptime(kvm_t *kd, long *times);                   /* kern.cp_time; 0, or -1 */
int kvm_getloadavg(kvm_t *kd, double averages[], int count); /* as getloadavg(3) */

/* The use of one area of swap space, or of all areas. Numbers are pages of getpagesize(2). */
struct kvm_swap {
    char ksw_devname[32];       /* as in "sda2", cut; of all areas, "Total" */
    unsigned int ksw_used;      /* pages that hold data */
    unsigned int ksw_total;     /* all pages */
    int ksw_flags;              /* 0 here */
    unsigned int ksw_reserved1; /* 0 */
    unsigned int ksw_reserved2; /* 0 */
};

#define SWIF_DEV_PREFIX 0x0002 /* a flag: names begin with /dev/ */

/*
 * Fills in one entry for each area of /proc/swaps, as far as there is room, and behind them the
 * sum. The result n is the index of the sum, which counts all areas. With a room of 1, the only
 * entry is the sum, and n is 0. Without an array (NULL) the result is 0, as FreeBSD's is without
 * a handle. -1: a room below 1, or an unknown flag.
 */
int kvm_getswapinfo(kvm_t *kd, struct kvm_swap *swaps, int room, int flags);

#ifdef __cplusplus
}
#endif

#endif
