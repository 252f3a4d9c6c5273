#include "crypto/key_folder.hpp"

#include "base/process/file.hpp"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace crab::crypto {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;

mode_t mode_of(KeyFolder::Access access) {
    switch (access) {
        case KeyFolder::Access::kPrivate: return 0600;
        case KeyFolder::Access::kPublic: return 0644;
    }
    return 0600;
}

std::unexpected<Error> unavailable(std::string_view name, std::string_view what) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("{} {}: {}", name, what, std::generic_category().message(errno)));
}

/// Root reads everything anyway, so what counts as foreign is what neither we nor root own.
bool is_foreign(const struct stat& status) {
    return status.st_uid != ::geteuid() && status.st_uid != 0;
}

}  // namespace

Result<KeyFolder> KeyFolder::open(const std::filesystem::path& path) {
    constexpr std::string_view kName = "the key directory";
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
        return unavailable(kName, "cannot be made");
    const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return unavailable(kName, "cannot be opened");
    const auto close = [](const int* descriptor) {
        ::close(*descriptor);
        delete descriptor;
    };
    std::shared_ptr<const int> directory(new int(fd), close);
    struct stat status{};
    if (::fstat(fd, &status) != 0) return unavailable(kName, "cannot be looked at");
    if (is_foreign(status))
        return fail(ErrorCode::kForbidden, "the key directory belongs to another user");
    if ((status.st_mode & 077) != 0)
        return fail(ErrorCode::kForbidden,
                    "the key directory is open to others; run `chmod 700` on it");
    return KeyFolder(std::move(directory));
}

Result<std::optional<std::string>> KeyFolder::read(std::string_view name, Access access) const {
    const Descriptor file(::openat(*directory_, std::string(name).c_str(),
                                   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file.is_open()) {
        if (errno == ENOENT) return std::optional<std::string>();
        return unavailable(name, "cannot be opened");
    }
    struct stat status{};
    if (::fstat(file.get(), &status) != 0) return unavailable(name, "cannot be looked at");
    if (!S_ISREG(status.st_mode))
        return fail(ErrorCode::kForbidden, fmt::format("{} is not a plain file", name));
    if (is_foreign(status))
        return fail(ErrorCode::kForbidden, fmt::format("{} belongs to another user", name));
    if ((status.st_mode & 0777 & ~mode_of(access)) != 0) {
        return fail(
            ErrorCode::kForbidden,
            fmt::format("{} is open to others; run `chmod {:o}` on it", name, mode_of(access)));
    }
    auto content = read_to_end(file, kMostBytes);
    if (!content && errno == EFBIG)
        return fail(ErrorCode::kOversize,
                    fmt::format("{} is too long to be a key or certificate", name));
    if (!content) return unavailable(name, "cannot be read");
    return content;
}

Result<void> KeyFolder::write(std::string_view name, std::string_view content,
                              Access access) const {
    const std::string target(name);
    const std::string fresh = target + ".new";
    ::unlinkat(*directory_, fresh.c_str(), 0);  // what a crash may have left
    {
        const Descriptor file(::openat(*directory_, fresh.c_str(),
                                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                       mode_of(access)));
        if (!file.is_open()) return unavailable(name, "cannot be written");
        // The umask may have taken bits away that others need for a public file.
        if (::fchmod(file.get(), mode_of(access)) != 0 || !file.write_and_sync(content))
            return unavailable(name, "cannot be written");
    }
    if (::renameat(*directory_, fresh.c_str(), *directory_, target.c_str()) != 0)
        return unavailable(name, "cannot be replaced");
    if (::fsync(*directory_) != 0) return unavailable(name, "cannot be made durable");
    return {};
}

}  // namespace crab::crypto
