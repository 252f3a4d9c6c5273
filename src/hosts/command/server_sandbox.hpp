#pragma once

#include "base/process/child_supervisor.hpp"
#include "hosts/command/protected_files.hpp"
#include "hosts/command/sandbox.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace crab::command {

/// What a program that runs for long, such as an MCP server on stdio, may do.
struct ServerSandboxRules {
    /// Files and folders of the host, absolute; they have the same paths inside.
    std::vector<std::filesystem::path> read, write;
    bool host_network = false;  ///< else none
    core::Privilege level = core::Privilege::kDefault;  ///< or kMinimal: no new processes
    std::uint64_t memory_bytes = 0;  ///< of all its processes; 0: any
};

/// The files that no sandbox shows, and those that none may change.
struct GuardedFiles {
    ProtectedFiles own, relied_on;
};

/// The sandbox of such a program: that of command tools (hosts/command/sandbox.hpp), around
/// standard descriptors that belong to who starts it. Immutable; any number of threads. Source:
/// docs/protocols/mcp.md, section 2.6.
class ServerSandbox {
public:
    /// Holds the files of the rules. Blocks. Errors: kUnavailable with what this machine lacks to
    /// enforce a rule; kInvalidArgs for a path that is missing, or that leads to what is crab's
    /// own.
    static Result<std::shared_ptr<const ServerSandbox>> make(
        SandboxAbilities abilities, ServerSandboxRules rules,
        std::shared_ptr<const GuardedFiles> guarded);

    /// Errors: kInvalidArgs when nothing in the sandbox is the file that `program` means.
    Result<void> check_program(const std::string& program) const;
    /// The program to start in the place of `program`, whose folder becomes /tmp if the sandbox
    /// does not show it. Errors, without paths: kUnavailable without descriptors, or when crab's
    /// own files have come to lie in what it would show.
    Result<SupervisedProgram> confine(ChildProgram program) const;

private:
    ServerSandbox() = default;
    Result<void> hold_files();
    Result<std::vector<Bind>> hold(const std::vector<std::filesystem::path>& paths,
                                   bool changes) const;
    Result<void> check_guarded(const Bind& bind, bool changes) const;
    bool shows(const std::filesystem::path& path) const;
    SandboxRequest request_for(ChildProgram& program) const;

    SandboxAbilities abilities_;
    ServerSandboxRules rules_;
    std::shared_ptr<const GuardedFiles> guarded_;
    std::vector<Bind> readable_, writable_;
    Descriptor filter_;
};

}  // namespace crab::command
