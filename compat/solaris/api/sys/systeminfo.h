/*
 * Solaris' sysinfo(2): texts about the system and the machine.
 *
 *     char name[257];
 *     if (sysinfo(SI_HOSTNAME, name, sizeof name) == -1) ...
 *
 * Linux has a sysinfo(2) with one argument, a struct sysinfo. That function stays usable beside this
 * one: in C the number of the arguments decides, in C++ their types. A C program cannot take the
 * address of Solaris' function.
 *
 * On a machine with x86 the texts are, for example:
 *
 *     SI_SYSNAME       Linux                   SI_ARCHITECTURE         i386
 *     SI_HOSTNAME      db1                     SI_ARCHITECTURE_32      i386
 *     SI_RELEASE       6.1.0-25-amd64          SI_ARCHITECTURE_64      amd64
 *     SI_VERSION       #1 SMP Debian 6.1       SI_ARCHITECTURE_K       amd64
 *     SI_MACHINE       x86_64                  SI_ARCHITECTURE_NATIVE  amd64
 *     SI_PLATFORM      x86_64                  SI_ISALIST              amd64 i386
 *     SI_HW_SERIAL     2831189761              SI_HW_PROVIDER          Dell Inc.
 *
 * The files /sys/class/dmi/id/sys_vendor and /proc/sys/kernel/domainname have the maker and the
 * domain.
 *
 * Threads: any.
 * Errors:  -1. EINVAL: no such command, or a negative count. A command that sets a text is no command
 *          here.
 * Source:  sysinfo(2) of Solaris for the commands; uname(2), gethostname(2) and gethostid(3) for the
 *          texts.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_SYSTEMINFO_H
#define _BLKSCOPE_SOLARIS_SYS_SYSTEMINFO_H

#pragma GCC system_header /* for include_next, and a macro of many arguments in C89 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include_next <sys/sysinfo.h> /* declares Linux' function before the macro below */
#include <sys/utsname.h>
#include <unistd.h>

#define SI_SYSNAME 1      /* the name of the system: "Linux" */
#define SI_HOSTNAME 2     /* the name of this machine */
#define SI_RELEASE 3      /* the release of the system */
#define SI_VERSION 4      /* the version of that release */
#define SI_MACHINE 5      /* the kind of machine, such as "x86_64" */
#define SI_ARCHITECTURE 6 /* the basic instruction set: "i386" on x86, else the kind of machine */
#define SI_HW_SERIAL 7    /* the number of hostid(1), in decimal */
#define SI_HW_PROVIDER 8  /* the maker of the machine; "": unknown */
#define SI_SRPC_DOMAIN 9  /* the domain of NIS; "": none */
#define SI_PLATFORM 513   /* here the same as SI_MACHINE */
#define SI_ISALIST 514    /* the instruction sets that programs may have, the best one first */
/* The instruction set of programs of 32 and of 64 bits, of the kernel, and of this program. */
#define SI_ARCHITECTURE_32 516
#define SI_ARCHITECTURE_64 517
#define SI_ARCHITECTURE_K 518
#define SI_ARCHITECTURE_NATIVE 519

#ifdef __cplusplus
extern "C" {
#endif

/* <unistd.h> hides both from strict C. */
extern int gethostname(char *__name, size_t __room) __THROW;
extern long gethostid(void);

/* The first line of a file without its end; "": no such file. */
static __inline__ void _blkscope_line_of(const char *path, char *line, int room) {
    FILE *const file = fopen(path, "re");
    line[0] = '\0';
    if (file == NULL) return;
    if (fgets(line, room, file) == NULL) line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    fclose(file);
}

/* The instruction set of programs with pointers of this width, as Solaris names the set. */
static __inline__ const char *_blkscope_isa(const char *machine, int bits) {
    const int is_x86_64 = strcmp(machine, "x86_64") == 0;
    const int is_x86 =
        machine[0] == 'i' && strcmp(machine + 1, "") != 0 && strcmp(machine + 2, "86") == 0;
    if (!is_x86_64 && !is_x86) return machine;
    return bits == 64 && is_x86_64 ? "amd64" : "i386";
}

/* The text of a command; NULL: no such command. `room` is for texts that are composed. */
static __inline__ const char *_blkscope_system_text(int command, struct utsname *names, char *room,
                                                    int size) {
    switch (command) {
        case SI_SYSNAME:
            return names->sysname;
        case SI_HOSTNAME:
            return gethostname(room, (size_t)size) == 0 ? room : names->nodename;
        case SI_RELEASE:
            return names->release;
        case SI_VERSION:
            return names->version;
        case SI_MACHINE:
        case SI_PLATFORM:
            return names->machine;
        case SI_ARCHITECTURE:
        case SI_ARCHITECTURE_32:
            return _blkscope_isa(names->machine, 32);
        case SI_ARCHITECTURE_64:
        case SI_ARCHITECTURE_K:
            return _blkscope_isa(names->machine, 64);
        case SI_ARCHITECTURE_NATIVE:
            return _blkscope_isa(names->machine, (int)sizeof(void *) * 8);
        case SI_ISALIST:
            if (strcmp(names->machine, "x86_64") == 0) return "amd64 i386";
            return _blkscope_isa(names->machine, 32);
        case SI_HW_SERIAL:
            sprintf(room, "%lu", (unsigned long)gethostid() & 0xffffffffUL);
            return room;
        case SI_HW_PROVIDER:
            _blkscope_line_of("/sys/class/dmi/id/sys_vendor", room, size);
            return room;
        case SI_SRPC_DOMAIN:
            _blkscope_line_of("/proc/sys/kernel/domainname", room, size);
            return strcmp(room, "(none)") == 0 ? "" : room;
        default:
            return NULL;
    }
}

/*
 * Copies a text, cut to `count` bytes with the NUL. The result is the bytes of the whole text, the NUL
 * included. A result above `count` means that the text was cut.
 */
static __inline__ int blkscope_sysinfo(int command, char *text, long count) {
    struct utsname names;
    char room[512];
    const char *found;
    size_t length;
    if (uname(&names) == -1) return -1;
    if (count < 0) {
        errno = EINVAL;
        return -1;
    }
    found = _blkscope_system_text(command, &names, room, (int)sizeof room);
    if (found == NULL) {
        errno = EINVAL;
        return -1;
    }
    length = strlen(found);
    if (count > 0) {
        const size_t kept = length < (size_t)count ? length : (size_t)count - 1;
        memcpy(text, found, kept);
        text[kept] = '\0';
    }
    return (int)length + 1;
}

#ifdef __cplusplus
}

/* Solaris' function beside Linux' own. */
static inline int sysinfo(int command, char *text, long count) {
    return blkscope_sysinfo(command, text, count);
}
#else
/* The function for one argument, or for three arguments. */
#define _BLKSCOPE_SYSINFO(a, b, c, function, ...) function
#define sysinfo(...) _BLKSCOPE_SYSINFO(__VA_ARGS__, blkscope_sysinfo, sysinfo, sysinfo, 0)(__VA_ARGS__)
#endif

#endif
