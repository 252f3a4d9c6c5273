#include "base/process/file.hpp"

#include <array>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab {
namespace {

std::unexpected<Error> failed(ErrorCode code, const std::filesystem::path& path,
                              std::string_view what) {
    return fail(code, fmt::format("{} {}: {}", path.string(), what,
                                  std::generic_category().message(errno)));
}

ErrorCode code_of_open() {
    return errno == ENOENT   ? ErrorCode::kNotFound
           : errno == EACCES ? ErrorCode::kForbidden
                             : ErrorCode::kUnavailable;
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path, std::size_t most) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) return failed(code_of_open(), path, "cannot be read");
    auto content = read_to_end(file, most);
    if (content) return *std::move(content);
    if (errno == EFBIG)
        return fail(ErrorCode::kOversize,
                    fmt::format("{} has more than {} bytes", path.string(), most));
    return failed(ErrorCode::kUnavailable, path, "cannot be read");
}

std::optional<std::string> read_to_end(const Descriptor& file, std::size_t most) {
    std::string content;
    std::array<char, 16 * 1024> part{};
    while (true) {
        const ssize_t got = ::read(file.get(), part.data(), part.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return std::nullopt;
        if (got == 0) return content;
        content.append(part.data(), static_cast<std::size_t>(got));
        if (content.size() > most) {
            errno = EFBIG;
            return std::nullopt;
        }
    }
}

Result<void> replace_file(const std::filesystem::path& path, std::string_view content,
                          mode_t mode) {
    const std::string fresh = path.string() + ".new";
    ::unlink(fresh.c_str());  // what a crash may have left
    {
        const Descriptor file(
            ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
        if (!file.is_open() || !file.write_and_sync(content))
            return failed(ErrorCode::kUnavailable, path, "cannot be written");
    }
    if (::rename(fresh.c_str(), path.c_str()) != 0)
        return failed(ErrorCode::kUnavailable, path, "cannot be replaced");
    const std::filesystem::path parent = path.has_parent_path() ? path.parent_path() : ".";
    const Descriptor folder(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder.is_open() || ::fsync(folder.get()) != 0)
        return failed(ErrorCode::kUnavailable, path, "cannot be made durable");
    return {};
}

}  // namespace crab
