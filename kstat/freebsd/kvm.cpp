// libkvm: every answer is that there is no kernel memory to read.
#include <kvm.h>
#include <limits.h>

#include <cerrno>
#include <cstdio>

namespace {

char why[] = "there is no kernel memory to read here";

}  // namespace

extern "C" {

kvm_t* kvm_openfiles(const char*, const char*, const char*, int, char* errbuf) {
    if (errbuf != nullptr) std::snprintf(errbuf, _POSIX2_LINE_MAX, "%s", why);
    errno = ENOTSUP;
    return nullptr;
}

kvm_t* kvm_open(const char*, const char*, const char*, int, const char* errstr) {
    if (errstr != nullptr) std::fprintf(stderr, "%s: %s\n", errstr, why);
    errno = ENOTSUP;
    return nullptr;
}

int kvm_close(kvm_t*) {
    return 0;
}

char* kvm_geterr(kvm_t*) {
    return why;
}

int kvm_nlist(kvm_t*, struct nlist*) {
    errno = ENOTSUP;
    return -1;
}

ssize_t kvm_read(kvm_t*, unsigned long, void*, size_t) {
    errno = ENOTSUP;
    return -1;
}

}  // extern "C"
