#include "hosts/command/command_cgroup.hpp"

#include "base/descriptor.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

namespace crab::command {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGroupPrefix = "crab-";
constexpr std::string_view kOwnGroup = "crab-gateway";

std::string read_group_file(const fs::path& file) {
    std::ifstream stream(file);
    std::stringstream text;
    text << stream.rdbuf();
    return text.str();
}

bool write_file(const fs::path& file, std::string_view text) {
    const Descriptor open_file(::open(file.c_str(), O_WRONLY | O_CLOEXEC | O_TRUNC));
    return open_file.is_open() &&
           ::write(open_file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool has_word(std::string_view text, std::string_view word) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find_first_of(" ,\n", at), text.size());
        if (text.substr(at, end - at) == word) return true;
        at = end + 1;
    }
    return false;
}

/// The number after `name ` in a file of lines `name number`.
std::optional<std::uint64_t> number_of(const std::string& text, std::string_view name) {
    std::istringstream lines(text);
    std::string word;
    std::uint64_t number = 0;
    while (lines >> word >> number) {
        if (word == name) return number;
    }
    return std::nullopt;
}

bool is_writable(const fs::path& folder) { return ::access(folder.c_str(), W_OK | X_OK) == 0; }

/// Whether the process that named a group `crab-<process>-<number>` runs. Its group can be empty
/// for a moment: before its command is in it.
bool owner_runs(std::string_view name) {
    name.remove_prefix(kGroupPrefix.size());
    pid_t process = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), process);
    return read.ec == std::errc() && process > 0 && (::kill(process, 0) == 0 || errno == EPERM);
}

/// Removes the groups of commands that a gateway before this one was killed with; those in use
/// stay, for they are not empty.
void sweep(const fs::path& parent) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(parent, error)) {
        const std::string name = entry.path().filename();
        if (name.starts_with(kGroupPrefix) && name != kOwnGroup && !owner_runs(name))
            (void)::rmdir(entry.path().c_str());
    }
}

/// Makes `group` hand memory and pids down, this process being the only one in it.
bool hand_down(const fs::path& group) {
    const fs::path own = group / kOwnGroup;
    std::error_code error;
    fs::create_directory(own, error);
    if (!write_file(own / "cgroup.procs", "0")) return false;
    if (write_file(group / "cgroup.subtree_control", "+memory +pids")) {
        // only for cpu.stat, which is there without it as well
        (void)write_file(group / "cgroup.subtree_control", "+cpu");
        return true;
    }
    (void)write_file(group / "cgroup.procs", "0");
    fs::remove(own, error);
    return false;
}

fs::path make_group(const fs::path& parent, const std::string& name) {
    if (parent.empty()) return {};
    std::error_code error;
    fs::create_directory(parent / name, error);
    return error ? fs::path() : parent / name;
}

}  // namespace

namespace {

/// All groups of a process that could be of use; `unified` may still refuse to hand anything down.
CgroupPaths places_of(const fs::path& root, const fs::path& membership) {
    CgroupPaths places;
    std::istringstream lines(read_group_file(membership));
    for (std::string line; std::getline(lines, line);) {
        const std::size_t first = line.find(':'), second = line.find(':', first + 1);
        if (second == line.npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const std::string path = line.substr(second + 2);  // without the slash that it begins with
        if (controllers.empty()) {
            fs::path group =
                (fs::exists(root / "cgroup.controllers") ? root : root / "unified") / path;
            // it has been moved there
            if (group.filename() == kOwnGroup) group = group.parent_path();
            const std::string offered = read_group_file(group / "cgroup.controllers");
            const bool useful = !path.empty() && has_word(offered, "memory") &&
                                has_word(offered, "pids") && is_writable(group);
            if (useful) places.unified = group;
            continue;
        }
        const fs::path group = root / controllers / path;
        if (has_word(controllers, "pids") && is_writable(group)) places.pids = group;
        if (has_word(controllers, "memory") && is_writable(group)) places.memory = group;
    }
    return places;
}

CgroupPaths without_old_ones(CgroupPaths places) {
    if (places.unified.empty()) return places;
    places.pids.clear();
    places.memory.clear();
    return places;
}

}  // namespace

CgroupPaths CgroupPaths::find(const fs::path& root, const fs::path& membership) {
    CgroupPaths places = places_of(root, membership);
    if (!places.unified.empty() && !hand_down(places.unified)) places.unified.clear();
    places = without_old_ones(std::move(places));
    for (const fs::path& parent : {places.unified, places.pids, places.memory}) {
        if (!parent.empty()) sweep(parent);
    }
    return places;
}

CgroupPaths CgroupPaths::look(const fs::path& root, const fs::path& membership) {
    CgroupPaths places = places_of(root, membership);
    // Controllers are handed down already, or can be: by a group that holds one process, which
    // moves.
    const fs::path& group = places.unified;
    const bool hands_down = has_word(read_group_file(group / "cgroup.subtree_control"), "memory");
    const std::string members = read_group_file(group / "cgroup.procs");
    if (!group.empty() && !hands_down && std::ranges::count(members, '\n') > 1)
        places.unified.clear();
    return without_old_ones(std::move(places));
}

CommandCgroup::CommandCgroup(const CgroupPaths& places, const std::string& name, Limits limits)
    : unified_(make_group(places.unified, name)),
      pids_(make_group(places.pids, name)),
      memory_(make_group(places.memory, name)) {
    const std::string most = std::to_string(limits.memory_bytes);
    if (!unified_.empty()) {
        if (limits.memory_bytes > 0) good_ = write_file(unified_ / "memory.max", most);
        (void)write_file(unified_ / "memory.swap.max", "0");
        (void)write_file(unified_ / "pids.max", std::to_string(limits.processes));
    }
    if (!memory_.empty() && limits.memory_bytes > 0) {
        good_ = write_file(memory_ / "memory.limit_in_bytes", most);
        // Where the kernel counts swap the sum is limited, too; buffers of TCP are counted beside
        // all else.
        if (!write_file(memory_ / "memory.memsw.limit_in_bytes", most))
            (void)write_file(memory_ / "memory.swappiness", "0");
        (void)write_file(memory_ / "memory.kmem.tcp.limit_in_bytes", most);
    }
    if (!pids_.empty()) (void)write_file(pids_ / "pids.max", std::to_string(limits.processes));
    good_ = good_ && unified_.empty() == places.unified.empty() &&
            memory_.empty() == places.memory.empty();
}

CommandCgroup::~CommandCgroup() {
    for (const fs::path& group : {unified_, pids_, memory_}) {
        if (!group.empty()) (void)::rmdir(group.c_str());
    }
}

bool CommandCgroup::add(pid_t process) const {
    bool all = true;
    for (const fs::path& group : {unified_, pids_, memory_}) {
        if (!group.empty())
            all = write_file(group / "cgroup.procs", std::to_string(process)) && all;
    }
    return all;
}

std::vector<Descriptor> CommandCgroup::procs_files() const {
    std::vector<Descriptor> all;
    for (const fs::path& group : {unified_, pids_, memory_}) {
        if (!group.empty())
            all.emplace_back(::open((group / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    }
    return all;
}

std::optional<Milliseconds> CommandCgroup::cpu() const {
    if (unified_.empty()) return std::nullopt;
    const auto microseconds = number_of(read_group_file(unified_ / "cpu.stat"), "usage_usec");
    return microseconds
               ? std::optional(Milliseconds(static_cast<std::int64_t>(*microseconds / 1000)))
               : std::nullopt;
}

bool CommandCgroup::ran_out_of_memory() const {
    const auto killed = [](const fs::path& group, const char* file) {
        return !group.empty() &&
               number_of(read_group_file(group / file), "oom_kill").value_or(0) > 0;
    };
    return killed(unified_, "memory.events") || killed(memory_, "memory.oom_control");
}

void CommandCgroup::kill() const {
    if (!unified_.empty()) (void)write_file(unified_ / "cgroup.kill", "1");
}

}  // namespace crab::command
