/*
 * The table of mounted file systems, one entry after the other:
 *
 *     FILE *table = fopen(MNTTAB, "r");
 *     struct mnttab mount;
 *     while (getmntent(table, &mount) == 0) printf("%s\n", mount.mnt_mountp);
 *
 * The functions have the names of Linux' <mntent.h> and other arguments, so a source includes one of both.
 *
 * Ownership: the texts belong to the functions until the next call.
 * Threads:   one at a time.
 * Errors:    -1: the end. MNT_TOOLONG, MNT_TOOFEW: a line of another form, which was skipped.
 * Source:    getmntent(3C); proc(5) of Linux, "/proc/pid/mountinfo".
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_MNTTAB_H
#define _BLKSCOPE_SOLARIS_SYS_MNTTAB_H

#pragma GCC system_header /* C++: casts of C */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MNTTAB "/proc/self/mountinfo"
#define MNT_LINE_MAX 8192 /* bytes of a line, the NUL included */
#define MNT_TOOLONG 1
#define MNT_TOOMANY 2 /* never here */
#define MNT_TOOFEW 3

struct mnttab {
    char *mnt_special; /* the device, or the server and its folder */
    char *mnt_mountp;  /* where it is mounted */
    char *mnt_fstype;  /* the type: "ext4" */
    char *mnt_mntopts; /* options with commas: "rw,noatime" */
    char *mnt_time;    /* "0": Linux does not tell when */
};

/* The same, and the parts of the device's number. */
struct extmnttab {
    char *mnt_special, *mnt_mountp, *mnt_fstype, *mnt_mntopts, *mnt_time;
    uint_t mnt_major, mnt_minor;
};

/* Undoes the escapes of the kernel: a blank in a name is \040. */
__attribute__((__unused__)) static void _blkscope_unescape(char *text) {
    char *to = text;
    for (; *text != '\0'; ++text, ++to) {
        const int is_escape = text[0] == '\\' && text[1] >= '0' && text[1] <= '3' &&
                              text[2] >= '0' && text[2] <= '7' && text[3] >= '0' && text[3] <= '7';
        *to = *text;
        if (!is_escape) continue;
        *to = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
        text += 3;
    }
    *to = '\0';
}

/* Parses "36 35 98:0 /root /mnt rw,noatime shared:1 - ext3 /dev/sda1 rw,errors=continue". */
__attribute__((__unused__)) static int _blkscope_parse_mount(char *line, struct extmnttab *mount) {
    static char zero[] = "0";
    char *rest = strstr(line, " - ");
    char *after;
    char *field[6];
    int i;
    if (rest == NULL) return MNT_TOOFEW;
    after = rest + 3;
    *rest = '\0';
    for (i = 0, rest = line; i < 6; ++i) {
        field[i] = strtok_r(i == 0 ? line : NULL, " ", &rest);
        if (field[i] == NULL) return MNT_TOOFEW;
    }
    if (sscanf(field[2], "%u:%u", &mount->mnt_major, &mount->mnt_minor) != 2) return MNT_TOOFEW;
    mount->mnt_mountp = field[4];
    mount->mnt_mntopts = field[5];
    mount->mnt_fstype = strtok_r(after, " \n", &rest);
    mount->mnt_special = strtok_r(NULL, " \n", &rest);
    mount->mnt_time = zero;
    if (mount->mnt_fstype == NULL || mount->mnt_special == NULL) return MNT_TOOFEW;
    _blkscope_unescape(mount->mnt_mountp);
    _blkscope_unescape(mount->mnt_special);
    return 0;
}

__attribute__((__unused__)) static int getextmntent(FILE *table, struct extmnttab *mount,
                                                    size_t size) {
    static char line[MNT_LINE_MAX];
    int is_cut = 0;
    (void)size;
    if (fgets(line, sizeof line, table) == NULL) return -1;
    while (strchr(line, '\n') == NULL) {
        is_cut = 1;
        if (fgets(line, sizeof line, table) == NULL) break;
    }
    return is_cut ? MNT_TOOLONG : _blkscope_parse_mount(line, mount);
}

__attribute__((__unused__)) static int getmntent(FILE *table, struct mnttab *mount) {
    struct extmnttab all = {NULL, NULL, NULL, NULL, NULL, 0, 0};
    const int result = getextmntent(table, &all, sizeof all);
    if (result != 0) return result;
    mount->mnt_special = all.mnt_special;
    mount->mnt_mountp = all.mnt_mountp;
    mount->mnt_fstype = all.mnt_fstype;
    mount->mnt_mntopts = all.mnt_mntopts;
    mount->mnt_time = all.mnt_time;
    return 0;
}

/* The next entry whose texts are those of `wanted`, where that has any. */
__attribute__((__unused__)) static int getmntany(FILE *table, struct mnttab *mount,
                                                 struct mnttab *wanted) {
    int result;
#define _BLKSCOPE_IS(text) (wanted->text == NULL || strcmp(wanted->text, mount->text) == 0)
    while ((result = getmntent(table, mount)) == 0) {
        if (_BLKSCOPE_IS(mnt_special) && _BLKSCOPE_IS(mnt_mountp) && _BLKSCOPE_IS(mnt_fstype) &&
            _BLKSCOPE_IS(mnt_mntopts))
            break;
    }
#undef _BLKSCOPE_IS
    return result;
}

/* Where the option begins, in the options of the entry; NULL: it has no such option. */
static __inline__ char *hasmntopt(struct mnttab *mount, const char *option) {
    const size_t length = strlen(option);
    char *at = mount->mnt_mntopts;
    while (at != NULL) {
        const char end = strncmp(at, option, length) == 0 ? at[length] : 'x';
        if (end == '\0' || end == ',' || end == '=') return at;
        at = strchr(at, ',');
        if (at != NULL) ++at;
    }
    return NULL;
}

/* Goes back to the first entry. */
static __inline__ void resetmnttab(FILE *table) {
    rewind(table);
}

#ifdef __cplusplus
}
#endif

#endif
