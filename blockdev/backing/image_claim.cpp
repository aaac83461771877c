#include "blockdev/backing/image_claim.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"
#include "base/throw_errno.hpp"
#include "blockdev/backing/image_user.hpp"
#include "blockdev/backing/loop_file.hpp"

namespace blkscope {
namespace {

constexpr std::chrono::milliseconds patience{1000};
constexpr std::chrono::milliseconds poll_interval{20};

constexpr off_t writes = 101;
constexpr off_t resizes = 103;
constexpr off_t no_reading = 200;
constexpr off_t no_writing = 201;

// True if another program has locked the byte. A file system without locks gives false.
bool others_lock(int fd, off_t byte) {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = byte;
    lock.l_len = 1;
    return ::fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool others_write(int fd) {
    return others_lock(fd, writes) || others_lock(fd, resizes) || others_lock(fd, no_writing);
}

// True also where the file system has no locks.
bool take_flock(int fd, int kind) {
    return ::flock(fd, kind | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

Descriptor open_again(int fd, int flags) {
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    return Descriptor(::open(path.c_str(), O_CLOEXEC | O_NONBLOCK | flags));
}

// The kernel's name of a block device, whatever path leads to it.
std::string device_path(dev_t device) {
    const std::string number = std::to_string(major(device)) + ":" + std::to_string(minor(device));
    std::error_code none;
    const auto target = std::filesystem::read_symlink("/sys/dev/block/" + number, none);
    return "/dev/" + target.filename().string();
}

bool insists(ImageUse use) {
    return use == ImageUse::read_shared || use == ImageUse::write_shared;
}

bool writes_to(ImageUse use) {
    return use != ImageUse::read && use != ImageUse::read_shared;
}

// One image, and the locks of this process on it.
class Image {
  public:
    explicit Image(const struct stat& is) : is_(is) {}
    ~Image() { assert(unused()); }
    Image& operator=(Image&&) = delete;

    [[nodiscard]] bool is(const struct stat& other) const {
        if (S_ISBLK(is_.st_mode)) return S_ISBLK(other.st_mode) && is_.st_rdev == other.st_rdev;
        return is_.st_dev == other.st_dev && is_.st_ino == other.st_ino;
    }
    [[nodiscard]] int exclusive() const { return S_ISBLK(is_.st_mode) ? exclusive_.get() : -1; }
    [[nodiscard]] bool unused() const { return users_ == Users{}; }
    /// Whether this process writes to it in a way that excludes the new use.
    [[nodiscard]] bool excludes(ImageUse use) const;

    /// One more use; false, and nothing has changed, if others stand in its way.
    bool add(int descriptor, ImageUse use);
    void remove(ImageUse use);

  private:
    using Users = std::array<unsigned, 5>;  // by ImageUse

    [[nodiscard]] unsigned& users(ImageUse use) { return users_.at(static_cast<size_t>(use)); }
    [[nodiscard]] unsigned users(ImageUse use) const { return users_.at(static_cast<size_t>(use)); }
    [[nodiscard]] bool allowed(ImageUse use, int descriptor);
    bool take_exclusive(int descriptor);
    bool take_loop_file(int device);

    struct stat is_;
    Users users_{};
    Descriptor locks_;      // a description of its own, to look for locks
    Descriptor exclusive_;  // while we write: has the flock(2), or is a disk opened with O_EXCL
    Descriptor loop_file_;  // while we write to a loop device: has a flock(2) on its file
};

bool Image::excludes(ImageUse use) const {
    if (!writes_to(use)) return false;
    const bool alone = users(ImageUse::write_alone) > 0;
    const bool any = users(ImageUse::write) + users(ImageUse::write_shared) > 0;
    return alone || (use == ImageUse::write_alone && any);
}

bool Image::add(int descriptor, ImageUse use) {
    if (!locks_.is_open()) locks_ = open_again(descriptor, O_RDONLY);
    if (!locks_.is_open()) throw_errno("open it again");
    ++users(use);
    try {
        if (insists(use) || allowed(use, descriptor)) return true;
    } catch (...) {
        remove(use);
        throw;
    }
    remove(use);
    return false;
}

void Image::remove(ImageUse use) {
    assert(users(use) > 0);
    --users(use);
    const bool writing = users(ImageUse::write) + users(ImageUse::write_alone) > 0;
    if (writing) return;
    exclusive_ = Descriptor();
    loop_file_ = Descriptor();
}

bool Image::allowed(ImageUse use, int descriptor) {
    // NFS would report our own lock, which covers each byte there, as that of another program.
    if (exclusive_.is_open()) return true;
    if (others_lock(locks_.get(), no_reading)) return false;
    if (use == ImageUse::read) return true;
    return !others_write(locks_.get()) && take_exclusive(descriptor);
}

// Finds mounts, and programs with locks of another kind, which qemu's bytes do not show.
bool Image::take_exclusive(int descriptor) {
    assert(!exclusive_.is_open());
    // NFS gives an exclusive flock(2) only to a description that may write.
    exclusive_ = open_again(descriptor, S_ISBLK(is_.st_mode) ? O_RDWR | O_EXCL : O_RDWR);
    if (!exclusive_.is_open() && errno != EBUSY) throw_errno("open it exclusively");
    if (!exclusive_.is_open()) return false;
    if (S_ISBLK(is_.st_mode)) return take_loop_file(descriptor);
    return take_flock(exclusive_.get(), LOCK_EX) && !loop_device(is_);
}

// A server of the file itself has an exclusive lock. Devices of parts of the file may have servers
// of their own, so they share theirs.
bool Image::take_loop_file(int device) {
    auto [file, whole] = open_loop_file(device);
    if (!file.is_open()) return true;
    loop_file_ = std::move(file);
    if (others_lock(loop_file_.get(), no_reading) || others_write(loop_file_.get())) return false;
    return take_flock(loop_file_.get(), whole ? LOCK_EX : LOCK_SH);
}

// The user of a loop device's file, which may be another export of this process. Nothing if the
// device itself is in use.
std::optional<std::string> loop_file_user(int device) {
    const LoopFile loop = open_loop_file(device);
    struct stat file {};
    if (!loop.file.is_open() || ::fstat(loop.file.get(), &file) != 0) return {};
    if (!open_again(device, O_RDWR | O_EXCL).is_open()) return {};
    const auto who = file_locker(file, {.self = 0});
    return who ? "its file is " + *who : who;
}

// Names the user of the image, for a person.
std::string user_of(int descriptor, const struct stat& image) {
    std::optional<std::string> who;
    if (S_ISBLK(image.st_mode)) who = loop_file_user(descriptor);
    if (S_ISBLK(image.st_mode) && !who) who = device_user(device_path(image.st_rdev));
    if (!who) who = loop_device(image);
    if (!who) who = file_locker(image);
    return who.value_or("its user cannot be seen from here");
}

// The images of this process.
class Images {
  public:
    static Images& of_this_process() {
        static Images images;
        return images;
    }

    /// Null if other processes use it. Throws if this process does, and only one may write.
    Image* add(int descriptor, const struct stat& is, const std::string& name, ImageUse use) {
        const std::lock_guard guard(mutex_);
        Image& image = find_or_make(is);
        try {
            if (image.excludes(use)) {
                throw std::runtime_error("open " + name +
                                         ": this server writes to it already, and a crash cache "
                                         "must be the only one that writes");
            }
            if (image.add(descriptor, use)) return &image;
        } catch (...) {
            drop_if_unused(image);
            throw;
        }
        drop_if_unused(image);
        return nullptr;
    }

    void remove(Image& image, ImageUse use) {
        const std::lock_guard guard(mutex_);
        image.remove(use);
        drop_if_unused(image);
    }

  private:
    Image& find_or_make(const struct stat& is) {
        const auto found =
            std::ranges::find_if(images_, [&](const auto& image) { return image->is(is); });
        if (found != images_.end()) return **found;
        return *images_.emplace_back(std::make_unique<Image>(is));
    }

    void drop_if_unused(const Image& image) {
        if (!image.unused()) return;
        std::erase_if(images_, [&](const auto& one) { return one.get() == &image; });
    }

    std::mutex mutex_;
    std::vector<std::unique_ptr<Image>> images_;
};

}  // namespace

class ImageClaim {
  public:
    ImageClaim(Image& image, ImageUse use) : image_(image), use_(use) {}
    ~ImageClaim() { Images::of_this_process().remove(image_, use_); }
    ImageClaim& operator=(ImageClaim&&) = delete;

    [[nodiscard]] int exclusive() const {
        const bool excludes = use_ == ImageUse::write || use_ == ImageUse::write_alone;
        return excludes ? image_.exclusive() : -1;
    }

  private:
    Image& image_;
    const ImageUse use_;
};

int exclusive_of(const ImageClaim& claim) {
    return claim.exclusive();
}

std::shared_ptr<const ImageClaim> claim_image(int descriptor, const std::string& name,
                                              ImageUse use) {
    assert(descriptor >= 0);
    struct stat is {};
    if (::fstat(descriptor, &is) != 0) throw_errno("stat " + name);
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (true) {
        Image* const image = Images::of_this_process().add(descriptor, is, name, use);
        if (image != nullptr) return std::make_shared<ImageClaim>(*image, use);
        if (std::chrono::steady_clock::now() > deadline) break;
        std::this_thread::sleep_for(poll_interval);
    }
    std::string advice = "; end that first";
    if (use == ImageUse::write) advice += ", serve it with --read-only";
    if (use != ImageUse::write_alone) advice += ", or insist with --force-shared";
    throw std::runtime_error("open " + name + ": it is in use: " + user_of(descriptor, is) +
                             advice);
}

}  // namespace blkscope
