#include "cli/state_backup.hpp"

#include "base/process/file.hpp"
#include "base/scope_exit.hpp"
#include "store/sqlite/database.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>

#include <sys/stat.h>

#include <fmt/format.h>

namespace crab::cli {
namespace {

namespace fs = std::filesystem;
using store::sqlite::Database;

// of a database's file, and half-written ones
constexpr std::array<std::string_view, 4> kExcluded{"-wal", "-shm", ".new", ".partial"};

bool is_excluded(const fs::path& name) {
    return name == "lock" || std::ranges::any_of(kExcluded, [&](std::string_view end) {
               return name.native().ends_with(end);
           });
}

std::unexpected<Error> failed(const fs::path& file, const std::error_code& problem) {
    return fail(ErrorCode::kUnavailable, fmt::format("{}: {}", file.string(), problem.message()));
}

Result<void> make_folder(const fs::path& folder) {
    if (::mkdir(folder.c_str(), 0700) == 0) return {};
    return failed(folder, std::error_code(errno, std::generic_category()));
}

Result<void> copy_database(const fs::path& from, const fs::path& to) {
    // The copy is checked, so the original need not be.
    auto database = Database::open(from, {.check = store::sqlite::StartCheck::kNone});
    if (!database) return fail(std::move(database.error()));
    if (auto copied = database->copy_to(to); !copied) return copied;
    const auto checked = Database::open(to);
    if (!checked) return fail(checked.error());
    return {};
}

/// False when the file is gone: artifacts end at any time.
Result<bool> save_file(const fs::path& from, const fs::path& to) {
    std::error_code problem;
    fs::copy_file(from, to, problem);
    if (problem == std::errc::no_such_file_or_directory) return false;
    if (problem) return failed(from, problem);
    fs::permissions(to, fs::perms::owner_read | fs::perms::owner_write, problem);
    if (problem) return failed(to, problem);
    return true;
}

Result<void> copy_folder(const fs::path& from, const fs::path& to, const fs::path& name,
                         std::vector<SavedFile>& saved) {
    if (auto made = make_folder(to / name); !made) return made;
    std::error_code problem;
    for (fs::directory_iterator at(from / name, problem), end; !problem && at != end;
         at.increment(problem)) {
        const fs::path each = name / at->path().filename();
        std::error_code gone;
        if (at->is_directory(gone) && !at->is_symlink(gone)) {
            if (auto copied = copy_folder(from, to, each, saved); !copied) return copied;
            continue;
        }
        if (!at->is_regular_file(gone) || is_excluded(each.filename())) continue;
        if (each.extension() == ".db") {
            if (auto copied = copy_database(from / each, to / each); !copied) return copied;
        } else {
            const auto copied = save_file(from / each, to / each);
            if (!copied) return fail(copied.error());
            if (!*copied) continue;
        }
        saved.push_back({.name = each, .bytes = fs::file_size(to / each, gone)});
    }
    if (problem) return failed(from / name, problem);
    return {};
}

bool is_within(const fs::path& inner, const fs::path& outer) {
    return std::ranges::mismatch(outer, inner).in1 == outer.end();
}

}  // namespace

Result<std::vector<SavedFile>> back_up_state(const fs::path& state_dir, const fs::path& to) {
    std::error_code problem;
    if (!fs::is_directory(state_dir, problem))
        return fail(
            ErrorCode::kNotFound,
            fmt::format("{} is not a folder: this gateway has no state yet", state_dir.string()));
    const fs::path target = fs::weakly_canonical(fs::absolute(to), problem);
    const fs::path source = fs::canonical(state_dir, problem);
    if (problem) return failed(to, problem);
    if (is_within(target, source) || is_within(source, target))
        return fail(ErrorCode::kInvalidArgs,
                    "a backup cannot lie within the folder it saves, nor around it");
    if (fs::exists(target, problem))
        return fail(ErrorCode::kConflict,
                    fmt::format("{} is there already: a backup makes its folder", target.string()));
    const fs::path partial = target.string() + ".partial";
    fs::create_directories(partial.parent_path(), problem);
    fs::remove_all(partial, problem);  // of a backup that was interrupted
    const ScopeExit clean_up([&] { fs::remove_all(partial, problem); });
    std::vector<SavedFile> saved;
    if (auto copied = copy_folder(source, partial, {}, saved); !copied)
        return fail(std::move(copied.error()));
    if (std::ranges::all_of(saved, [](const SavedFile& file) { return file.bytes == 0; }))
        return fail(ErrorCode::kNotFound,
                    fmt::format("{} holds nothing to save: either this gateway has not run yet, or "
                                "its state is in another folder (`crab config path` names the "
                                "file that says where)",
                                source.string()));
    fs::rename(partial, target, problem);
    if (problem) return failed(target, problem);
    std::ranges::sort(saved, {}, &SavedFile::name);
    return saved;
}

}  // namespace crab::cli
