#include "cli/state_restore.hpp"

#include "base/descriptor.hpp"
#include "base/process/folder_lock.hpp"
#include "base/scope_exit.hpp"
#include "store/sqlite/state_check.hpp"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::cli {
namespace {

namespace fs = std::filesystem;

std::unexpected<Error> failed_at(const fs::path& file, int error) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("{}: {}", file.string(), std::generic_category().message(error)));
}

/// Whose the files shall be: root restores what belongs to a service.
struct Owner {
    uid_t user;
    gid_t group;
};

Result<void> give(const fs::path& file, mode_t mode, const Owner& owner) {
    if (::chmod(file.c_str(), mode) != 0 || ::lchown(file.c_str(), owner.user, owner.group) != 0)
        return failed_at(file, errno);
    return {};
}

bool is_left_out(const fs::path& name) {
    return name == "lock" || name.extension() == ".partial" || name.extension() == ".new" ||
           name.native().ends_with(".db-shm");
}

Result<void> copy_tree(const fs::path& from, const fs::path& to, const Owner& owner) {
    if (::mkdir(to.c_str(), 0700) != 0) return failed_at(to, errno);
    std::error_code problem;
    for (fs::directory_iterator at(from, problem), end; !problem && at != end;
         at.increment(problem)) {
        const fs::path name = at->path().filename();
        const fs::file_status status = at->symlink_status(problem);
        if (problem) break;
        if (fs::is_directory(status)) {
            if (auto copied = copy_tree(at->path(), to / name, owner); !copied) return copied;
            continue;
        }
        if (!fs::is_regular_file(status))
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("{} is neither a file nor a folder: crab backup made no such "
                                    "thing",
                                    at->path().string()));
        if (is_left_out(name)) continue;
        fs::copy_file(at->path(), to / name, problem);
        if (problem) break;
        if (auto given = give(to / name, 0600, owner); !given) return given;
    }
    if (problem) return failed_at(from, problem.value());
    return give(to, 0700, owner);
}

Owner owner_of(const fs::path& folder) {
    struct stat status{};
    if (::stat(folder.c_str(), &status) != 0) return {.user = ::geteuid(), .group = ::getegid()};
    return {.user = status.st_uid, .group = status.st_gid};
}

/// Stores that were opened made files and folders, which are as open as the umask lets them be and
/// belong to whoever opened them.
Result<void> give_all(const fs::path& folder, const Owner& owner) {
    std::error_code problem;
    for (fs::recursive_directory_iterator at(folder, problem), end; !problem && at != end;
         at.increment(problem)) {
        const mode_t mode = at->is_directory(problem) ? 0700 : 0600;
        if (problem) break;
        if (auto given = give(at->path(), mode, owner); !given) return given;
    }
    if (problem) return failed_at(folder, problem.value());
    return {};
}

Result<void> write_to_disk(const fs::path& folder) {
    const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!opened.is_open() || ::syncfs(opened.get()) != 0) return failed_at(folder, errno);
    return {};
}

std::string time_now() {
    const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                       parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

/// In one step: a crash leaves the one or the other. Returns where the old state is.
Result<fs::path> change_places(const fs::path& fresh, const fs::path& state_dir) {
    std::error_code problem;
    if (!fs::exists(state_dir, problem)) {
        if (::rename(fresh.c_str(), state_dir.c_str()) != 0) return failed_at(state_dir, errno);
        return fs::path();
    }
    const fs::path before = state_dir.string() + ".before-" + time_now();
    if (fs::exists(before, problem))
        return fail(ErrorCode::kConflict, before.string() + " is there already");
    if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, state_dir.c_str(), RENAME_EXCHANGE) != 0)
        return failed_at(state_dir, errno);
    if (::rename(fresh.c_str(), before.c_str()) != 0) return failed_at(before, errno);
    return before;
}

Result<fs::path> place_of(const fs::path& state_dir) {
    std::error_code problem;
    const fs::path place = fs::weakly_canonical(fs::absolute(state_dir), problem);
    if (problem) return failed_at(state_dir, problem.value());
    fs::create_directories(place.parent_path(), problem);
    if (::access(place.parent_path().c_str(), W_OK) != 0)
        return fail(ErrorCode::kUnavailable,
                    fmt::format("{} cannot be written, and the copy is made there: as root",
                                place.parent_path().string()));
    return place;
}

bool contains(const fs::path& outer, const fs::path& inner) {
    const fs::path below = inner.lexically_relative(outer);
    return !below.empty() && *below.begin() != "..";
}

}  // namespace

Result<Restored> restore_state(const fs::path& backup, const fs::path& state_dir) {
    std::error_code problem;
    const fs::path source = fs::canonical(backup, problem);
    if (problem || !fs::is_directory(source, problem))
        return fail(ErrorCode::kNotFound, fmt::format("{} is not a folder", backup.string()));
    const auto place = place_of(state_dir);
    if (!place) return fail(place.error());
    if (contains(source, *place) || contains(*place, source))
        return fail(ErrorCode::kInvalidArgs,
                    "a backup cannot lie within the folder it is restored to, nor around it");
    std::optional<Descriptor> lock;
    if (fs::exists(*place, problem)) {
        auto locked = lock_folder(*place);
        if (!locked) return fail(std::move(locked.error()));
        lock = std::move(*locked);
    }
    const Owner owner = owner_of(lock ? *place : place->parent_path());
    const fs::path fresh = place->string() + ".restoring";
    fs::remove_all(fresh, problem);  // of a restore that was interrupted
    const ScopeExit clean_up([&] { fs::remove_all(fresh, problem); });
    if (auto copied = copy_tree(source, fresh, owner); !copied)
        return fail(std::move(copied.error()));
    const auto databases = store::sqlite::check_state(fresh);
    if (!databases) return fail(databases.error());
    if (*databases == 0)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("{} holds no database: it is no backup", backup.string()));
    if (auto given = give_all(fresh, owner); !given) return fail(std::move(given.error()));
    if (auto written = write_to_disk(fresh); !written) return fail(std::move(written.error()));
    auto before = change_places(fresh, *place);
    if (!before) return fail(std::move(before.error()));
    if (auto written = write_to_disk(*place); !written) return fail(std::move(written.error()));
    return Restored{.databases = *databases, .before = std::move(*before)};
}

}  // namespace crab::cli
