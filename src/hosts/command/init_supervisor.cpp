#include "hosts/command/init_supervisor.hpp"

#include "hosts/command/init/tool_record.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::command {
namespace {

std::string next_server_group() {
    static std::atomic<std::uint64_t> number{0};
    return fmt::format("crab-{}-server-{}", ::getpid(), ++number);
}

}  // namespace

Result<void> InitSupervisor::open() {
    if (!status_.open() || !control_.open())
        return fail(ErrorCode::kUnavailable,
                    fmt::format("no pipe for a supervisor: {}", std::strerror(errno)));
    ::fcntl(status_.read_end.get(), F_SETFL, O_NONBLOCK);
    return {};
}

bool InitSupervisor::put_into(const CgroupPaths& places, CommandCgroup::Limits limits) {
    cgroup_.emplace(places, next_server_group(), limits);
    if (!cgroup_->is_good()) return false;
    procs_files_ = cgroup_->procs_files();
    for (const Descriptor& file : procs_files_) {
        if (!file.is_open()) return false;
        groups_.push_back(file.get());
    }
    return true;
}

void InitSupervisor::equip(ChildProgram& program) {
    inherited_.insert(inherited_.end(), {status(), control()});
    program.kept = inherited_;
    program.groups = groups_;
    program.dies_with_thread = true;
}

void InitSupervisor::started() {
    status_.write_end.close();
    control_.read_end.close();
    kept_.clear();
    procs_files_.clear();
}

void InitSupervisor::terminate() { (void)write_quietly(control_.write_end.get(), "T"); }

void InitSupervisor::kill() {
    (void)write_quietly(control_.write_end.get(), "K");
    control_.write_end.close();
}

int InitSupervisor::not_started() {
    ToolRecord record;
    while (::read(status_.read_end.get(), &record, sizeof record) == sizeof record) {
        if (record.kind == ToolRecord::Kind::kNotStarted) return record.status;
    }
    return 0;
}

Result<SupervisedProgram> supervise(const std::filesystem::path& init, ChildProgram program) {
    const std::string file =
        program.file.empty() ? find_program(program.words.front()) : program.file;
    if (file.empty() || ::access(file.c_str(), X_OK) != 0)
        return fail(ErrorCode::kNotFound, std::strerror(file.empty() ? ENOENT : errno));
    const auto supervisor = std::make_shared<InitSupervisor>();
    if (auto opened = supervisor->open(); !opened) return fail(std::move(opened.error()));
    std::vector<std::string> words{init.string(), "--supervise",
                                   "--file",      file,
                                   "--status",    std::to_string(supervisor->status()),
                                   "--control",   std::to_string(supervisor->control()),
                                   "--"};
    words.insert(words.end(), std::make_move_iterator(program.words.begin()),
                 std::make_move_iterator(program.words.end()));
    program.words = std::move(words);
    program.file = init;
    supervisor->equip(program);
    return SupervisedProgram{std::move(program), supervisor};
}

}  // namespace crab::command
