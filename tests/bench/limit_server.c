/* The ceiling: how fast could any NBD server answer one client on this machine?
 *
 * Each connection has a process, and the export is in shared memory. One receive takes everything
 * from the socket, and one send sends all the answers. The server negotiates what libnbd needs:
 * NBD_OPT_GO and simple replies. With a third argument the replies are structured if the client
 * asks for them. The server keeps no statistics and trusts its client: a yardstick for
 * tests/bench/compare, not a server to use.
 *
 * usage: limit_server SOCKET SIZE_MIB [structured]
 *        SOCKET is the path of a Unix socket, or digits: a TCP port of 127.0.0.1
 * Source: the NBD protocol's "Fixed newstyle negotiation", "Simple reply" and "Structured reply
 *         chunk" sections.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    option_abort = 2,
    option_info = 6,
    option_go = 7,
    option_structured_reply = 8,
    reply_ack = 1,
    reply_info = 3,
    command_read = 0,
    command_write = 1,
    command_disc = 2,
    chunk_done = 1,
    chunk_offset_data = 1,
    flags_of_export = 1 | 4 | 256, /* HAS_FLAGS, SEND_FLUSH, CAN_MULTI_CONN */
    request_bytes = 28,
    batch_max = 256,
    receive_bytes = 1 << 20,
    option_bytes_max = 64 * 1024,
};
static const uint32_t reply_unsupported = 0x80000001U;

struct __attribute__((packed)) greeting {
    uint64_t magic, option_magic;
    uint16_t flags;
};
struct __attribute__((packed)) option {
    uint64_t magic;
    uint32_t code, length;
};
struct __attribute__((packed)) option_reply {
    uint64_t magic;
    uint32_t code, type, length;
};
struct __attribute__((packed)) export_info {
    uint16_t type;
    uint64_t size;
    uint16_t flags;
};
struct __attribute__((packed)) request {
    uint32_t magic;
    uint16_t flags, type;
    uint64_t cookie, offset;
    uint32_t length;
};
struct __attribute__((packed)) simple_reply {
    uint32_t magic, error;
    uint64_t cookie;
};

/* In front of the data of a read, for a client that has asked for chunks. */
struct __attribute__((packed)) data_chunk {
    uint32_t magic;
    uint16_t flags, type;
    uint64_t cookie;
    uint32_t length;
    uint64_t offset;
};

static char* disk;
static uint64_t disk_bytes;
static int offers_structured; /* the third argument */
static int structured;        /* this connection's client has asked for it */

/* A client that goes away ends this connection's process: nothing to tell, nothing to clean up. */
static void receive_all(int fd, void* to, size_t bytes) {
    for (char* at = to; bytes > 0;) {
        const ssize_t got = read(fd, at, bytes);
        if (got <= 0) exit(0);
        at += got;
        bytes -= (size_t)got;
    }
}

static void send_all(int fd, struct iovec* part, int parts) {
    while (parts > 0) {
        const ssize_t sent = writev(fd, part, parts);
        if (sent < 0) exit(0);
        size_t left = (size_t)sent;
        while (parts > 0 && left >= part->iov_len) {
            left -= part->iov_len;
            ++part;
            --parts;
        }
        if (parts > 0) {
            part->iov_base = (char*)part->iov_base + left;
            part->iov_len -= left;
        }
    }
}

static void answer_option(int fd, uint32_t code, uint32_t type, void* data, uint32_t bytes) {
    struct option_reply head = {htobe64(0x3e889045565a9ULL), htobe32(code), htobe32(type),
                                htobe32(bytes)};
    struct iovec parts[] = {{&head, sizeof head}, {data, bytes}};
    send_all(fd, parts, bytes > 0 ? 2 : 1);
}

static void negotiate(int fd) {
    struct greeting hello = {htobe64(0x4e42444d41474943ULL), htobe64(0x49484156454f5054ULL),
                             htobe16(3)}; /* FIXED_NEWSTYLE, NO_ZEROES */
    struct iovec greeting = {&hello, sizeof hello};
    send_all(fd, &greeting, 1);
    uint32_t client_flags;
    receive_all(fd, &client_flags, sizeof client_flags);

    for (;;) {
        static char ignored[option_bytes_max];
        struct option option;
        receive_all(fd, &option, sizeof option);
        const uint32_t code = be32toh(option.code);
        const uint32_t bytes = be32toh(option.length);
        if (bytes > sizeof ignored) exit(1);
        receive_all(fd, ignored, bytes); /* any name will do: there is one export */

        if (code == option_go || code == option_info) {
            struct export_info info = {0, htobe64(disk_bytes), htobe16(flags_of_export)};
            answer_option(fd, code, reply_info, &info, sizeof info);
            answer_option(fd, code, reply_ack, NULL, 0);
            if (code == option_go) return;
        } else if (code == option_structured_reply && offers_structured) {
            answer_option(fd, code, reply_ack, NULL, 0);
            structured = 1;
        } else if (code == option_abort) {
            answer_option(fd, code, reply_ack, NULL, 0);
            exit(0);
        } else {
            answer_option(fd, code, reply_unsupported, NULL, 0);
        }
    }
}

/* Takes one write whose header is at `at`, of which `have` bytes have come in. Data that has not is
 * received straight into its place. Returns how many of the `have` bytes it used. */
static size_t take_write(int fd, const char* at, size_t have, uint64_t offset, uint32_t length) {
    const size_t here = have - request_bytes < length ? have - request_bytes : length;
    memcpy(disk + offset, at + request_bytes, here);
    receive_all(fd, disk + offset + here, length - here);
    return request_bytes + here;
}

/* The head of a request's only answer. Returns its size. */
static size_t head_of_answer(void* to, const struct request* request) {
    if (structured && be16toh(request->type) == command_read) {
        const struct data_chunk chunk = {htobe32(0x668e33efU),
                                         htobe16(chunk_done),
                                         htobe16(chunk_offset_data),
                                         request->cookie,
                                         htobe32(8 + be32toh(request->length)),
                                         request->offset};
        memcpy(to, &chunk, sizeof chunk);
        return sizeof chunk;
    }
    const struct simple_reply reply = {htobe32(0x67446698U), 0, request->cookie};
    memcpy(to, &reply, sizeof reply);
    return sizeof reply;
}

/* Carries out the whole requests among the `have` bytes at `in`, batch_max of them at most. Sends
 * their answers together. Returns the number of bytes used; 0 means that there is no whole request.
 */
static size_t answer_batch(int fd, const char* in, size_t have) {
    static struct data_chunk heads[batch_max]; /* the larger of the two */
    static struct iovec parts[2 * batch_max];
    size_t used = 0;
    int count = 0;
    int part = 0;

    while (have - used >= request_bytes && count < batch_max) {
        struct request request;
        memcpy(&request, in + used, sizeof request);
        const uint16_t type = be16toh(request.type);
        const uint64_t offset = be64toh(request.offset);
        const uint32_t length = be32toh(request.length);
        if (type == command_disc) exit(0);

        parts[part++] = (struct iovec){&heads[count], head_of_answer(&heads[count], &request)};
        ++count;
        if (type == command_read) parts[part++] = (struct iovec){disk + offset, length};
        used += type == command_write ? take_write(fd, in + used, have - used, offset, length)
                                      : request_bytes;
    }
    send_all(fd, parts, part);
    return used;
}

static void transmit(int fd) {
    static char in[receive_bytes];
    size_t have = 0;

    for (;;) {
        const ssize_t got = read(fd, in + have, sizeof in - have);
        if (got <= 0) exit(0);
        have += (size_t)got;

        size_t used = 0;
        for (size_t step = 1; step > 0; used += step)
            step = answer_batch(fd, in + used, have - used);
        have -= used;
        memmove(in, in + used, have); /* a piece of one header at most */
    }
}

static int is_port(const char* text) {
    return text[0] != '\0' && strspn(text, "0123456789") == strlen(text);
}

static int listen_at_port(const char* digits) {
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)atoi(digits)),
                                        .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    if (fd < 0) return -1;
    /* Accepted connections have it from here: replies do not wait for more. */
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) return -1;
    if (bind(fd, (const struct sockaddr*)&address, sizeof address) != 0) return -1;
    return listen(fd, 64) == 0 ? fd : -1;
}

static int listen_at_path(const char* path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr*)&address, sizeof address) != 0) return -1;
    return listen(fd, 64) == 0 ? fd : -1;
}

int main(int argc, char** argv) {
    if (argc < 3 || argc > 4 || atoll(argv[2]) <= 0) {
        fprintf(stderr, "usage: limit_server SOCKET SIZE_MIB [structured]\n");
        return 2;
    }
    offers_structured = argc == 4;
    disk_bytes = (uint64_t)atoll(argv[2]) << 20;
    disk = mmap(NULL, disk_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const int listener = disk == MAP_FAILED ? -1
                         : is_port(argv[1]) ? listen_at_port(argv[1])
                                            : listen_at_path(argv[1]);
    if (listener < 0) {
        fprintf(stderr, "limit_server: %s: %s\n", argv[1], strerror(errno));
        return 1;
    }
    memset(disk, 1, disk_bytes); /* every page is there before the first request */

    const pid_t parent = getpid();
    for (;;) {
        const int fd = accept(listener, NULL, NULL);
        if (fd < 0) continue;
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* to end the benchmark's child is to end it all */
            if (getppid() != parent) exit(0);
            negotiate(fd);
            transmit(fd);
        }
        close(fd);
        /* Waited for, so that the time of those that ended is in ours (cutime, cstime). */
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
    }
}
