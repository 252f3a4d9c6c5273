#include "base/descriptor.hpp"

#include <cerrno>

#include <unistd.h>

namespace crab {

void Descriptor::close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

bool Descriptor::write_and_sync(std::string_view content) const {
    while (!content.empty()) {
        const ssize_t n = ::write(fd_, content.data(), content.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        content.remove_prefix(static_cast<std::size_t>(n));
    }
    return ::fsync(fd_) == 0;
}

}  // namespace crab
