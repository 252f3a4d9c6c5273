#include "base/process/file.hpp"
#include "cli/admin_client.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include <unistd.h>

#include <fmt/format.h>

namespace crab::cli {
namespace {

namespace fs = std::filesystem;

constexpr Milliseconds kLookAgain{200};
constexpr std::streamoff kMostTail = std::streamoff{16} << 20;

/// The gateway writes to its standard error, and what that is decides where the log is.
struct LogPlace {
    std::string unit;      ///< of systemd, whose journal has it; or
    bool of_user = false;  ///< `journalctl --user`
    fs::path file;         ///< or
    std::string elsewhere;  ///< where nobody keeps it
};

/// `crab.service` of `0::/system.slice/crab.service`.
std::string unit_in(std::string_view cgroups) {
    std::string unit;
    for (std::size_t at = 0; at < cgroups.size();) {
        const std::size_t end = std::min(cgroups.find_first_of("/\n", at), cgroups.size());
        if (cgroups.substr(at, end - at).ends_with(".service")) unit = cgroups.substr(at, end - at);
        at = end + 1;
    }
    return unit;
}

Result<LogPlace> place_of_process(const std::string& pid) {
    std::error_code error;
    const fs::path standard_error = fs::read_symlink("/proc/" + pid + "/fd/2", error);
    if (error)
        return fail(ErrorCode::kForbidden,
                    fmt::format("cannot see where process {} writes: {}; be the user it runs as",
                                pid, error.message()));
    LogPlace place;
    if (standard_error.native().starts_with("socket:")) {
        const auto cgroups = read_file("/proc/" + pid + "/cgroup");
        place.unit = unit_in(cgroups ? *cgroups : std::string());
        place.of_user = cgroups && cgroups->contains("/user@");
        // user@1000.service is the manager of the unit
        if (place.unit.starts_with("user@")) place.unit.clear();
    }
    if (!place.unit.empty()) return place;
    if (fs::is_regular_file(standard_error, error))
        place.file = standard_error;
    else
        place.elsewhere = standard_error.string();
    return place;
}

/// Without a gateway that answers there may still be its unit.
Result<LogPlace> find_log(const Logs& options) {
    if (!options.unit.empty()) return LogPlace{.unit = options.unit};
    const auto status = fetch(options.target, "/v1/admin/status");
    if (status) return place_of_process(text_of(*status, "pid"));
    std::error_code ignored;
    if (status.error().code != ErrorCode::kUnavailable ||
        !fs::exists("/run/systemd/system", ignored))
        return fail(status.error());
    return LogPlace{.unit = "crab.service"};
}

int follow_journal(const LogPlace& place, const Logs& options) {
    std::vector<std::string> words{
        "journalctl", place.of_user ? "--user-unit=" + place.unit : "--unit=" + place.unit,
        fmt::format("--lines={}", options.lines), "--no-pager"};
    if (options.follow) words.emplace_back("--follow");
    if (!options.since.empty()) words.push_back("--since=" + options.since);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    return report(Error{.code = ErrorCode::kUnavailable,
                        .message = fmt::format("the log is in the journal of {}, and journalctl "
                                               "cannot be started: {}",
                                               place.unit, std::strerror(errno))});
}

/// The last lines: at most so many, and no more than 16 MiB.
void print_end(std::ifstream& file, int lines) {
    file.seekg(0, std::ios::end);
    const std::streamoff size = file.tellg();
    file.seekg(std::max<std::streamoff>(0, size - kMostTail));
    std::string text(std::istreambuf_iterator<char>(file), {});
    std::size_t begin = text.size();
    for (int left = lines + (text.ends_with('\n') ? 1 : 0); left > 0 && begin > 0; --left) {
        const std::size_t before = text.rfind('\n', begin - 1);
        begin = before == std::string::npos ? 0 : before;
    }
    if (begin < text.size() && text[begin] == '\n') ++begin;
    text.erase(0, begin);
    print_foreign(text);
}

int follow_file(const fs::path& path, const Logs& options) {
    if (!options.since.empty())
        return report(Error{.code = ErrorCode::kInvalidArgs,
                            .message = fmt::format("--since needs the journal; the log is the file "
                                                   "{}, which has no index",
                                                   path.string())});
    std::ifstream file(path, std::ios::binary);
    if (!file)
        return report(Error{.code = ErrorCode::kForbidden,
                            .message = fmt::format("cannot read the log {}: {}", path.string(),
                                                   std::strerror(errno))});
    print_end(file, options.lines);
    std::fflush(stdout);
    while (options.follow) {
        std::this_thread::sleep_for(kLookAgain);
        file.clear();
        std::error_code error;
        const auto size = static_cast<std::streamoff>(fs::file_size(path, error));
        if (error)
            return report(Error{.code = ErrorCode::kNotFound,
                                .message = path.string() + " is gone; run crab logs again"});
        if (size < file.tellg()) file.seekg(0);  // it was cut, to be written anew
        const std::string more(std::istreambuf_iterator<char>(file), {});
        file.clear();
        print_foreign(more);
        if (std::fflush(stdout) != 0) return kExitOk;
    }
    return kExitOk;
}

}  // namespace

int run(const Logs& options) {
    const auto place = find_log(options);
    if (!place) return report(place.error());
    if (!place->unit.empty()) return follow_journal(*place, options);
    if (!place->file.empty()) return follow_file(place->file, options);
    return report(Error{
        .code = ErrorCode::kNotFound,
        .message = fmt::format(
            "the gateway writes its log to {}, where nobody keeps it: start it by systemd, or "
            "with 2>>FILE, and crab logs finds that",
            place->elsewhere)});
}

}  // namespace crab::cli
