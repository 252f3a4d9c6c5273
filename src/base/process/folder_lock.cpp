#include "base/process/folder_lock.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

namespace crab {

Result<Descriptor> lock_folder(const std::filesystem::path& folder) {
    std::error_code ignored;
    std::filesystem::create_directories(folder.parent_path(), ignored);
    ::mkdir(folder.c_str(), 0700);
    Descriptor lock(
        ::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock.is_open())
        return fail(ErrorCode::kUnavailable,
                    fmt::format("{} cannot be written ({}); check its owner and mode",
                                folder.native(), std::strerror(errno)));
    // Not fcntl's locks: those would go with any other descriptor of the file that this process
    // closes.
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
        return fail(
            ErrorCode::kUnavailable,
            fmt::format("another process uses {}; stop it, or give this one a folder of its own",
                        folder.native()));
    }
    return lock;
}

}  // namespace crab
