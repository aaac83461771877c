/*
 * kvm_t, the handle of FreeBSD's libkvm, so that programs which pass it on compile. Kernel memory
 * cannot be had here; libkvm's functions say so.
 */
#ifndef _KVM_H
#define _KVM_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct __kvm kvm_t;

#ifdef __cplusplus
}
#endif

#endif
