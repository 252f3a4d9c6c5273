#include "cli/output/files.hpp"

#include "base/scope_exit.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>

#include <fmt/format.h>

namespace crab::cli {

Result<std::string> read_input(std::string_view path) {
    constexpr std::size_t kMax = std::size_t{64} << 20;
    const std::string name(path);
    std::FILE* file = path == "-" ? stdin : std::fopen(name.c_str(), "rbe");
    if (!file)
        return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kForbidden,
                    fmt::format("cannot read {}: {}", name, std::strerror(errno)));
    const ScopeExit close([&] {
        if (file != stdin) std::fclose(file);
    });
    std::string content;
    char bytes[64 * 1024];
    while (const std::size_t count = std::fread(bytes, 1, sizeof bytes, file)) {
        content.append(bytes, count);
        if (content.size() > kMax)
            return fail(ErrorCode::kOversize, fmt::format("{} has more than 64 MiB", name));
    }
    if (std::ferror(file))
        return fail(ErrorCode::kForbidden,
                    fmt::format("cannot read {}: {}", name, std::strerror(errno)));
    return content;
}

Result<Descriptor> create_private_file(const std::filesystem::path& path) {
    Descriptor file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file.is_open()) return file;
    if (errno == EEXIST)
        return fail(
            ErrorCode::kConflict,
            fmt::format("{} is there already; remove it, or name another file", path.string()));
    return fail(ErrorCode::kForbidden,
                fmt::format("cannot create {}: {}", path.string(), std::strerror(errno)));
}

std::string shell_word(std::string_view word) {
    constexpr std::string_view kPlain =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos)
        return std::string(word);
    std::string out = "'";
    for (const char c : word) c == '\'' ? out += "'\\''" : out += c;
    return out + "'";
}

}  // namespace crab::cli
