#include "hosts/command/worktree_path.hpp"

#include "base/descriptor.hpp"

#include <cerrno>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::command {
namespace {

constexpr std::string_view kFormat = "worktree-path";

bool has_format(const json::Value& schema) {
    const json::Value* format = schema.find("format");
    return format && format->as_string() && *format->as_string() == kFormat;
}

std::unexpected<Error> refused(std::string_view argument, std::string_view why) {
    return fail(ErrorCode::kInvalidArgs, fmt::format("/{}: {}", argument, why),
                fmt::format(R"({{"errors":[{{"pointer":"/{}","rule":"format"}}]}})", argument));
}

bool has_dot_dot(std::string_view path) {
    for (std::size_t at = 0; at <= path.size();) {
        const std::size_t end = std::min(path.find('/', at), path.size());
        if (path.substr(at, end - at) == "..") return true;
        at = end + 1;
    }
    return false;
}

/// Errno is set when this is not open.
Descriptor open_beneath(int directory, const std::string& path) {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    for (int tries = 0; tries < 8; ++tries) {
        const long fd = ::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how);
        if (fd >= 0) return Descriptor(static_cast<int>(fd));
        if (errno != EAGAIN) break;  // something was renamed at the same time
    }
    return Descriptor();
}

}  // namespace

std::vector<std::string> worktree_path_arguments(const json::Value& input_schema) {
    std::vector<std::string> names;
    const json::Value* properties = input_schema.find("properties");
    if (!properties || !properties->as_object()) return names;
    for (const auto& [name, schema] : *properties->as_object()) {
        const json::Value* items = schema.find("items");
        if (has_format(schema) || (items && has_format(*items))) names.push_back(name);
    }
    return names;
}

Result<void> check_worktree_path(int worktree, std::string_view argument, std::string_view path) {
    if (path.empty() || path.find('\0') != path.npos) return refused(argument, "must be a path");
    if (path.front() == '/')
        return refused(argument, "must be relative to the worktree, not absolute");
    if (has_dot_dot(path)) return refused(argument, "may not contain ..");
    const Descriptor found = open_beneath(worktree, std::string(path));
    if (!found.is_open()) {
        if (errno == EXDEV || errno == ELOOP)
            return refused(argument, "leads out of the worktree by a symbolic link");
        // for the tool to tell
        if (errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ENAMETOOLONG)
            return {};
        return refused(argument, "cannot be opened in the worktree");
    }
    struct stat file{};
    // A pipe would hold its reader until the deadline, and a device is not the worktree's.
    if (::fstat(found.get(), &file) != 0 ||
        (!S_ISREG(file.st_mode) && !S_ISDIR(file.st_mode) && !S_ISLNK(file.st_mode))) {
        return refused(argument, "is neither a file nor a folder");
    }
    return {};
}

Result<void> check_worktree_paths(int worktree, const std::vector<std::string>& names,
                                  json::Element arguments) {
    for (const std::string& name : names) {
        if (const auto path = json::get_string(arguments, name)) {
            if (auto checked = check_worktree_path(worktree, name, *path); !checked) return checked;
        }
        const auto items = json::get_array(arguments, name);
        if (!items) continue;
        for (const json::Element item : *items) {
            if (!item.is_string()) continue;
            if (auto checked =
                    check_worktree_path(worktree, name, item.get_string().value_unsafe());
                !checked)
                return checked;
        }
    }
    return {};
}

}  // namespace crab::command
