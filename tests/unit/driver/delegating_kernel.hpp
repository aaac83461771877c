// DelegatingKernel: Linux, except for the calls that a test replaces.
#pragma once

#include "blockdev/ring/kernel.hpp"

namespace blkscope::testing {

class DelegatingKernel : public Kernel {
  public:
    virtual ~DelegatingKernel() = default;
    int set_up(unsigned entries, io_uring& ring) override { return linux_.set_up(entries, ring); }
    void tear_down(io_uring& ring) override { linux_.tear_down(ring); }
    int enable(io_uring& ring) override { return linux_.enable(ring); }
    int submit(io_uring& ring, unsigned wait_for, hrtime_t ns_max) override {
        return linux_.submit(ring, wait_for, ns_max);
    }
    int take_completions(io_uring& ring) override { return linux_.take_completions(ring); }
    int reserve_files(io_uring& ring, unsigned count) override {
        return linux_.reserve_files(ring, count);
    }
    int set_file(io_uring& ring, unsigned index, int fd) override {
        return linux_.set_file(ring, index, fd);
    }
    int open_event() override { return linux_.open_event(); }
    void signal_event(int event) override { linux_.signal_event(event); }

    ssize_t pread(int fd, std::span<std::byte> to, uint64_t at) override {
        return linux_.pread(fd, to, at);
    }
    ssize_t pwrite(int fd, std::span<const std::byte> from, uint64_t at) override {
        return linux_.pwrite(fd, from, at);
    }
    int64_t seek(int fd, uint64_t at, int whence) override { return linux_.seek(fd, at, whence); }
    int failed_write_back(int fd) override { return linux_.failed_write_back(fd); }
    int64_t allocated_bytes(int fd) override { return linux_.allocated_bytes(fd); }
    int discard(int fd, uint64_t at, uint64_t bytes) override {
        return linux_.discard(fd, at, bytes);
    }
    std::byte* map(int fd, uint64_t bytes) override { return linux_.map(fd, bytes); }
    void unmap(std::byte* start, uint64_t bytes) override { linux_.unmap(start, bytes); }
    bool copy(std::byte* to, std::span<const std::byte> from) override {
        return linux_.copy(to, from);
    }
    bool is_cached(const std::byte* first, uint64_t bytes) override {
        return linux_.is_cached(first, bytes);
    }
    void forget(std::byte* first, uint64_t bytes) override { linux_.forget(first, bytes); }

    void shutdown(int socket, int how) override { linux_.shutdown(socket, how); }
    ssize_t send_now(int socket, std::span<const std::byte> bytes) override {
        return linux_.send_now(socket, bytes);
    }
    int64_t unsent_bytes(int socket) override { return linux_.unsent_bytes(socket); }
    bool has_input(int socket) override { return linux_.has_input(socket); }
    bool set_up_if_unix(int socket, int send_bytes) override {
        return linux_.set_up_if_unix(socket, send_bytes);
    }
    void close(int fd) override { linux_.close(fd); }

    hrtime_t now() override { return linux_.now(); }

  private:
    Kernel& linux_ = linux_kernel();
};

}  // namespace blkscope::testing
