#pragma once

#include "base/process/child_supervisor.hpp"
#include "base/process/pipe.hpp"
#include "base/result.hpp"
#include "hosts/command/command_cgroup.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace crab::command {

/// crab-sandbox-init as the supervisor of one program, in a sandbox or not: this side of its
/// control and status descriptors.
class InitSupervisor final : public ChildSupervisor {
public:
    InitSupervisor() = default;
    InitSupervisor(const InitSupervisor&) = delete;
    InitSupervisor& operator=(const InitSupervisor&) = delete;

    /// Errors: kUnavailable when the system is out of descriptors.
    Result<void> open();
    int status() const { return status_.write_end.get(); }
    int control() const { return control_.read_end.get(); }
    /// Of the program that it is to run in; false when they cannot be entered.
    bool put_into(const CgroupPaths& places, CommandCgroup::Limits limits);
    /// Closed when the program has started.
    void keep(Descriptor descriptor) { kept_.push_back(std::move(descriptor)); }
    /// The child inherits these, too.
    void pass_on(std::vector<int> descriptors) { inherited_ = std::move(descriptors); }
    /// Descriptors and groups of `program`, which this outlives.
    void equip(ChildProgram& program);

    void started() override;
    void terminate() override;
    void kill() override;
    int not_started() override;

private:
    Pipe status_, control_;
    std::optional<CommandCgroup> cgroup_;
    std::vector<Descriptor> kept_, procs_files_;
    std::vector<int> inherited_, groups_;
};

/// `program` under `init`, which is crab-sandbox-init, and with the rights and limits that it has
/// without: so that what it starts, and what that starts, does not outlive it or this process.
/// Errors, without paths: kNotFound when there is no such program; kUnavailable without
/// descriptors.
Result<SupervisedProgram> supervise(const std::filesystem::path& init, ChildProgram program);

}  // namespace crab::command
