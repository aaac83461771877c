/*
 * Files that are synced one after the other, and their check after a crash.
 *
 *     synced-files write FOLDER LOG    until an error of the disk: replaces a file, syncs it and the
 *                                      folder, and then adds its version to LOG
 *     synced-files check FOLDER LOG    whether each file is whole, and as new as LOG says
 *
 * Beside these, a file is written that is never synced, so that the disk's cache is not empty.
 *
 * A version is the number of the replacement. The version decides the file, its size and its
 * bytes. LOG is on another disk, and has a line for each version that is durable.
 *
 * Exit: 0; 1 if files are lost, with a line for each; 2 if LOG or the arguments are wrong.
 */
#define _GNU_SOURCE /* sync_file_range() */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { files = 40, head_bytes = 16, bytes_max = 24000 };

static size_t content(unsigned long version, char *to) {
    const size_t bytes = head_bytes + version * 7919 % (bytes_max - head_bytes);
    snprintf(to, head_bytes, "%015lu", version);
    for (size_t i = head_bytes; i < bytes; ++i) to[i] = (char)(version * 31 + i * 7);
    return bytes;
}

/* Whether the file was written, synced and renamed, and the folder synced. */
static int replace(int folder, unsigned long version) {
    char data[bytes_max];
    char name[32];
    const size_t bytes = content(version, data);
    snprintf(name, sizeof name, "file%lu", version % files);
    const int fd = openat(folder, "new", O_CREAT | O_TRUNC | O_WRONLY, 0600);
    if (fd < 0) return 0;
    const int written = write(fd, data, bytes) == (ssize_t)bytes && fsync(fd) == 0;
    return (close(fd) == 0) && written && renameat(folder, "new", folder, name) == 0 &&
           fsync(folder) == 0;
}

/* The version of a file that is whole; 0 for any other. */
static unsigned long whole_version(int folder, unsigned long file) {
    char found[bytes_max + 1];
    char wanted[bytes_max];
    char name[32];
    snprintf(name, sizeof name, "file%lu", file);
    const int fd = openat(folder, name, O_RDONLY);
    if (fd < 0) return 0;
    const ssize_t bytes = read(fd, found, sizeof found);
    close(fd);
    if (bytes < head_bytes || found[head_bytes - 1] != 0) return 0;
    const unsigned long version = strtoul(found, NULL, 10);
    const int whole = (size_t)bytes == content(version, wanted) &&
                      memcmp(found, wanted, (size_t)bytes) == 0 && version % files == file;
    return whole ? version : 0;
}

/* Sends data to the disk without a flush. */
static void write_noise(int noise, unsigned long version) {
    enum { places = 20, bytes = 65536 };
    char data[bytes];
    const off_t at = (off_t)(version % places * bytes);
    memset(data, (int)(version % 256), sizeof data);
    if (pwrite(noise, data, sizeof data, at) < 0) return;
    sync_file_range(noise, at, sizeof data, SYNC_FILE_RANGE_WRITE);
}

static int write_files(int folder, FILE *log, unsigned long version) {
    const int noise = openat(folder, "noise", O_CREAT | O_WRONLY, 0600);
    while (replace(folder, ++version)) {
        if (fprintf(log, "%lu\n", version) < 0 || fflush(log) != 0) return 2;
        write_noise(noise, version);
    }
    close(noise);
    fprintf(stderr, "version %lu: %s\n", version, strerror(errno));
    return 0;
}

static int check_files(int folder, const unsigned long *logged) {
    int lost = 0;
    for (unsigned long file = 0; file < files; ++file) {
        const unsigned long version = whole_version(folder, file);
        if (version >= logged[file]) continue;
        printf("file%lu: version %lu was synced; version %lu is there\n", file, logged[file], version);
        lost = 1;
    }
    return lost;
}

int main(int argc, char **argv) {
    unsigned long logged[files] = {0};
    unsigned long version = 0;
    unsigned long last = 0;
    if (argc != 4) return 2;
    const int folder = open(argv[2], O_RDONLY | O_DIRECTORY);
    FILE *log = fopen(argv[3], "a+");
    if (folder < 0 || log == NULL) {
        perror("synced-files");
        return 2;
    }
    rewind(log);
    while (fscanf(log, "%lu", &version) == 1) {
        logged[version % files] = version;
        last = version;
    }
    clearerr(log);
    if (strcmp(argv[1], "check") == 0) return check_files(folder, logged);
    return write_files(folder, log, last + files);
}
