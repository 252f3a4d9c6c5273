#include "hosts/command/disk_quota.hpp"

#include "base/descriptor.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string_view>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace crab::command {
namespace {

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kLeastStep = std::uint64_t{1} << 20, kMostStep = std::uint64_t{64} << 20;
constexpr int kMostDepth = 200;             ///< descriptors that are open at once
/// Of a measurement: seconds of work, with a cold cache a minute
constexpr std::size_t kMostEntries = 500'000;
/// In one call; empty files take no blocks, but others need inodes too
constexpr std::uint64_t kMostNewFiles = 1'000'000;

/// Adds up what the files below a folder occupy; no link is followed, no file system left.
class Measurement {
public:
    explicit Measurement(const std::stop_token& stop) : stop_(stop) {}

    /// kUnknown when part of it cannot be seen.
    std::uint64_t of(int folder) {
        struct stat about{};
        if (::fstat(folder, &about) != 0) return kUnknown;
        device_ = about.st_dev;
        return add(folder, 0) ? bytes_ : kUnknown;
    }

private:
    bool add(int parent, int depth) {
        const int listed = ::openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (listed < 0) return false;
        DIR* const folder = ::fdopendir(listed);
        if (folder == nullptr) {
            ::close(listed);
            return false;
        }
        bool all = true;
        while (all && !partial_) {
            const dirent* const entry = ::readdir(folder);
            if (entry == nullptr) break;
            const std::string_view name = entry->d_name;
            if (name != "." && name != "..") all = add_entry(listed, entry->d_name, depth);
        }
        ::closedir(folder);
        return all;
    }

    bool add_entry(int folder, const char* name, int depth) {
        struct stat about{};
        // it went meanwhile
        if (::fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) != 0) return true;
        if (about.st_dev != device_) return true;
        // A file of several names is found under each; a command cannot make names outside.
        bytes_ += static_cast<std::uint64_t>(about.st_blocks) * 512 /
                  std::max<nlink_t>(S_ISDIR(about.st_mode) ? 1 : about.st_nlink, 1);
        if (entries_++ == kMostEntries || stop_.stop_requested()) partial_ = true;
        if (partial_) return true;
        if (!S_ISDIR(about.st_mode)) return true;
        if (depth >= kMostDepth) return false;
        const Descriptor inner(
            ::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        // What is somebody else's was not written by a command; an owner who is shut out of his own
        // folder hides something.
        if (!inner.is_open()) return errno != EACCES || about.st_uid != ::geteuid();
        return add(inner.get(), depth + 1);
    }

    const std::stop_token stop_;
    bool partial_ = false;  ///< there are too many files to look at them all
    dev_t device_ = 0;
    std::uint64_t bytes_ = 0;
    std::size_t entries_ = 0;
};

std::uint64_t lost(std::uint64_t free_then, std::uint64_t free_now) {
    return free_then > free_now ? free_then - free_now : 0;
}

}  // namespace

DiskQuota::Free DiskQuota::free() const {
    struct statvfs about{};
    if (::fstatvfs(folder_, &about) != 0) return {};
    return {.bytes = static_cast<std::uint64_t>(about.f_bfree) * about.f_frsize,
            .files = about.f_ffree};
}

void DiskQuota::measure(const std::stop_token& stop) {
    const std::uint64_t used = Measurement(stop).of(folder_);
    const std::scoped_lock lock(mutex_);
    used_ = used;
    measured_ = true;
    measuring_ = false;
    changed_.notify_all();
}

std::optional<bool> DiskQuota::holds_too_much(std::uint64_t free_now, SteadyTime until) {
    std::unique_lock lock(mutex_);
    const std::uint64_t room = measured_ && used_ < most_ ? most_ - used_ : 0;
    // Others write on the disk too, so what it lost only says when to look.
    const bool look = !measured_ || used_ > most_ ||
                      lost(free_then_, free_now) > std::clamp(room / 4, kLeastStep, kMostStep);
    if (look && !std::exchange(measuring_, true)) {
        free_then_ = free_now;
        measurer_ = std::jthread([this](const std::stop_token& stop) { measure(stop); });
    }
    if (look) changed_.wait_until(lock, until, [this] { return !measuring_; });
    if (measuring_ && !measured_) return std::nullopt;
    return used_ > most_;
}

DiskQuota::Watch::Watch(DiskQuota& quota) : quota_(quota), at_begin_(quota.free()) {}

std::optional<bool> DiskQuota::Watch::exceeded(SteadyTime until) {
    const Free now = quota_.free();
    const bool too_fast = lost(at_begin_.bytes, now.bytes) > quota_.most_ ||
                          lost(at_begin_.files, now.files) > kMostNewFiles;
    if (too_fast) return true;
    return quota_.holds_too_much(now.bytes, until);
}

}  // namespace crab::command
