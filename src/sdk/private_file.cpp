#include "sdk/private_file.hpp"

#include "base/process/file.hpp"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace crab::sdk {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;

std::string reason() { return std::generic_category().message(errno); }

}  // namespace

Result<std::string> read_private_file(const std::filesystem::path& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) {
        return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
                    fmt::format("{}: {}", path.string(), reason()));
    }
    struct stat status{};
    if (::fstat(file.get(), &status) != 0)
        return fail(ErrorCode::kUnavailable, fmt::format("{}: {}", path.string(), reason()));
    if (S_ISREG(status.st_mode) && (status.st_mode & 077) != 0) {
        return fail(ErrorCode::kForbidden,
                    fmt::format("{} can be read by others; run `chmod 600` on it", path.string()));
    }
    auto content = read_to_end(file, kMostBytes);
    if (!content)
        return fail(ErrorCode::kUnavailable, fmt::format("{}: {}", path.string(), reason()));
    return *std::move(content);
}

Result<void> write_private_file(const std::filesystem::path& path, std::string_view content) {
    std::error_code ignored;  // replace_file() says what is wrong
    if (const auto folder = path.parent_path();
        !folder.empty() && std::filesystem::create_directories(folder, ignored)) {
        std::filesystem::permissions(folder, std::filesystem::perms::owner_all, ignored);
    }
    return replace_file(path, content);
}

}  // namespace crab::sdk
