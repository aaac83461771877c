// A block device for a test, of a file.
#pragma once

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include "base/descriptor.hpp"

namespace blkscope::test {

/// A disk that is a file; read-only with O_RDONLY. Needs root.
class LoopDevice {
  public:
    explicit LoopDevice(const std::string& path, int mode = O_RDWR) : file_(path) {
        const Descriptor control(open("/dev/loop-control", O_RDWR | O_CLOEXEC));
        const Descriptor file(open(path.c_str(), mode | O_CLOEXEC));
        if (!control.is_open() || !file.is_open()) return;
        // Another test may take the free device first.
        for (int i = 0; i < 100 && !attach(ioctl(control.get(), LOOP_CTL_GET_FREE), file); ++i) {
            if (errno != EBUSY) return;
        }
    }
    ~LoopDevice() {
        if (device_.is_open()) ioctl(device_.get(), LOOP_CLR_FD);
    }
    LoopDevice(const LoopDevice&) = delete;
    LoopDevice& operator=(const LoopDevice&) = delete;

    [[nodiscard]] bool is_there() const { return device_.is_open(); }
    [[nodiscard]] const std::string& path() const { return path_; }

    bool shrink_to(uint64_t bytes) {
        return truncate(file_.c_str(), static_cast<off_t>(bytes)) == 0 &&
               ioctl(device_.get(), LOOP_SET_CAPACITY) == 0;
    }

  private:
    bool attach(int number, const Descriptor& file) {
        if (number < 0) return false;
        path_ = "/dev/loop" + std::to_string(number);
        Descriptor device(open(path_.c_str(), O_RDWR | O_CLOEXEC));
        if (!device.is_open() || ioctl(device.get(), LOOP_SET_FD, file.get()) != 0) return false;
        device_ = std::move(device);
        return true;
    }

    std::string file_;
    std::string path_;
    Descriptor device_;
};

}  // namespace blkscope::test
