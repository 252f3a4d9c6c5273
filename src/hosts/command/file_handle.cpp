#include "hosts/command/file_handle.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::command {
namespace {

namespace fs = std::filesystem;

/// Errno is set when this is not open. A path that was resolved a moment ago has no links on it,
/// unless somebody puts one there now.
Descriptor open_without_links(const fs::path& path) {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;   // with O_NOFOLLOW a link at the end would be opened itself
    how.resolve = RESOLVE_NO_SYMLINKS;
    return Descriptor(
        static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
}

std::unexpected<Error> refused(int error) {
    return fail(
        error == ENOENT || error == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
        std::strerror(error));
}

}  // namespace

FileIdentity FileIdentity::of(const fs::path& path) {
    struct stat about{};
    if (::lstat(path.c_str(), &about) != 0) return {};
    return {.device = about.st_dev, .number = about.st_ino};
}

Result<FileHandle> FileHandle::open(const fs::path& path) {
    std::error_code error;
    const fs::path real = fs::canonical(path, error);
    if (error) return refused(error.value());
    return open_exactly(real);
}

Result<FileHandle> FileHandle::open_exactly(const fs::path& path) {
    Descriptor opened = open_without_links(path);
    struct stat about{};
    if (!opened.is_open() || ::fstat(opened.get(), &about) != 0) return refused(errno);
    FileHandle held;
    held.identity_ = {.device = about.st_dev, .number = about.st_ino};
    held.folder_ = S_ISDIR(about.st_mode);
    held.file_ = std::make_shared<const Descriptor>(std::move(opened));
    return held;
}

Result<FileHandle> FileHandle::open_folder(const fs::path& path) {
    auto held = open(path);
    if (held && !held->is_folder()) return fail(ErrorCode::kInvalidArgs, std::strerror(ENOTDIR));
    return held;
}

std::string FileHandle::link() const { return fmt::format("/proc/self/fd/{}", fd()); }

fs::path FileHandle::place() const {
    if (!is_open()) return {};
    std::error_code error;
    const fs::path path = fs::read_symlink(link(), error);
    // The kernel writes " (deleted)" behind names that are no more, and a mount may hide the name:
    // what is there tells.
    return !error && FileIdentity::of(path) == identity_ ? path : fs::path();
}

}  // namespace crab::command
