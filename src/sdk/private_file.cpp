#include "sdk/private_file.hpp"

#include "base/descriptor.hpp"

#include <array>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace crab::sdk {
namespace {

std::string reason() { return std::generic_category().message(errno); }

}  // namespace

Result<std::string> read_private_file(const std::filesystem::path& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) {
        return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable, fmt::format("{}: {}", path.string(), reason()));
    }
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return fail(ErrorCode::kUnavailable, fmt::format("{}: {}", path.string(), reason()));
    if (S_ISREG(status.st_mode) && (status.st_mode & 077) != 0) {
        return fail(ErrorCode::kForbidden, fmt::format("{} can be read by others; run `chmod 600` on it", path.string()));
    }
    std::string content;
    std::array<char, 4096> part{};
    while (true) {
        const ssize_t n = ::read(file.get(), part.data(), part.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail(ErrorCode::kUnavailable, fmt::format("{}: {}", path.string(), reason()));
        if (n == 0) return content;
        content.append(part.data(), static_cast<std::size_t>(n));
    }
}

Result<void> write_private_file(const std::filesystem::path& path, std::string_view content) {
    const auto failed = [&] { return fail(ErrorCode::kUnavailable, fmt::format("{} cannot be written: {}", path.string(), reason())); };
    std::error_code ignored;  // open() below says what is wrong
    if (const auto folder = path.parent_path(); !folder.empty() && std::filesystem::create_directories(folder, ignored)) {
        std::filesystem::permissions(folder, std::filesystem::perms::owner_all, ignored);
    }
    const std::string fresh = path.string() + ".new";
    ::unlink(fresh.c_str());
    {
        const Descriptor file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        if (!file.is_open() || !file.write_and_sync(content)) return failed();
    }
    if (::rename(fresh.c_str(), path.c_str()) != 0) return failed();
    return {};
}

}  // namespace crab::sdk
