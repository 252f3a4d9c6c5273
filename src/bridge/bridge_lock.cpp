#include "bridge/bridge_lock.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace crab::bridge {
namespace {

/// The whole file; `l_pid` is 0, as locks of open descriptions want it.
struct flock whole_file() {
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    return lock;
}

}  // namespace

Descriptor take_bridge_lock(const std::filesystem::path& file) {
    Descriptor opened(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    struct flock lock = whole_file();
    if (!opened.is_open() || ::fcntl(opened.get(), F_OFD_SETLK, &lock) != 0) return {};
    return opened;
}

bool is_bridge_locked(const std::filesystem::path& file) {
    const Descriptor opened(::open(file.c_str(), O_RDWR | O_CLOEXEC));
    struct flock lock = whole_file();
    return opened.is_open() && ::fcntl(opened.get(), F_OFD_GETLK, &lock) == 0 &&
           lock.l_type != F_UNLCK;
}

}  // namespace crab::bridge
