#pragma once

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/published.hpp"
#include "base/secret.hpp"
#include "base/task/blocking_pool.hpp"
#include "base/task/timer_wheel.hpp"
#include "core/call/tool_host.hpp"
#include "hosts/command/command_run.hpp"
#include "hosts/command/command_tool.hpp"
#include "hosts/command/worktrees.hpp"

#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace crab::command {

/// Services shared by all commands of a process.
struct CommandServices {
    const Clock& clock;
    BlockingPool& threads;               ///< each running command occupies one
    /// A gate with as many slots as threads, where commands queue under their deadlines; null:
    /// unlimited
    std::shared_ptr<core::ToolGate> places{};
    SandboxAbilities abilities;
    std::shared_ptr<const Worktrees> worktrees;
    /// Overrides the bindings: the worktree of an agent or principal, empty for none; null: the
    /// bindings apply. Errors: kUnavailable. On the event loop of the call.
    // `call` is the same for all attempts
    using BoundWorktree =
        std::function<Task<Result<std::string>>(std::string agent, std::string call)>;
    BoundWorktree bound_worktree{};
    /// For `env: {NAME: {secret: name}}`
    std::map<std::string, Secret<std::string>, std::less<>> secrets{};
    /// Hidden from commands
    using OwnFiles = Published<ProtectedFiles>;
    std::shared_ptr<const OwnFiles> own =
        std::make_shared<const OwnFiles>(std::make_shared<const ProtectedFiles>());
    /// Read-only for commands
    std::shared_ptr<const ProtectedFiles> relied_on = std::make_shared<const ProtectedFiles>();
};

/// Runs the tools of one command provider under bubblewrap within the call's effective policy, or
/// refuses them. Source: docs/protocols/sw4rm.md, sections 4, 8, 10 and 11.
class CommandHost final : public core::ToolHost, public std::enable_shared_from_this<CommandHost> {
public:
    struct Options {
        std::string id;  ///< the provider's
        std::string worktree;  ///< default for callers without a binding; may be empty
        std::shared_ptr<Egress> egress;  ///< proxy to the listed hosts; null: none are listed
        bool advisory = false;  ///< labels that cannot be enforced are reported, not refused
    };
    CommandHost(CommandServices services, Options options, std::vector<CommandTool> tools);

    /// Errors: kInvalidArgs (arguments that cannot be expanded, worktree paths), kWorktreeNotBound,
    /// kPolicyUnenforceable, kTimeout, kWallTimeout, kCpuBudgetExceeded, kCancelled, kOversize,
    /// kToolFailed with exit status and the end of standard error; kUnavailable when the sandbox
    /// did not start. Returns when all processes of the command have ended.
    Task<core::Outcome> run(core::AdmittedCall call, core::FrameSink& sink) override;
    /// The worktree that the call would run in.
    Task<Result<std::string>> place_of(const core::Call& call,
                                       const core::Principal& principal) const override;

    /// Checks the configured `elevated_paths`: they must exist and must not overlap a worktree or
    /// crab's own files. Errors: kInvalidArgs that names the tool.
    Result<void> check() const;
    const Options& options() const { return options_; }
    const std::shared_ptr<core::ToolGate>& places() const { return services_.places; }
    const std::map<std::string, CommandTool, std::less<>>& tools() const { return tools_; }

private:
    /// A call that may run: its tool, where, and what of its policy cannot be enforced here.
    struct Prepared {
        const CommandTool& tool;
        std::string place;  ///< the worktree's id; empty: none
        std::vector<std::string> unenforced;
        CommandRequest order;
    };
    Task<Result<Prepared>> prepare(const core::AdmittedCall& call) const;
    Task<Result<const Worktree*>> worktree_of(const core::Call& call,
                                              const core::Principal& principal) const;
    Result<CommandRequest> order_of(const core::AdmittedCall& call, const CommandTool& tool,
                                    const Worktree* worktree,
                                    std::vector<std::string>& unenforced) const;
    Result<std::vector<std::pair<std::string, std::string>>> environment_of(
        const core::AdmittedCall& call, const CommandTool& tool, json::Element arguments) const;
    Result<void> grant(const core::EffectivePolicy& policy, const CommandTool& tool,
                       SandboxRequest& request) const;
    Result<SandboxRequest> request_of(const core::AdmittedCall& call, const CommandTool& tool,
                                      const Worktree* worktree) const;
    std::optional<std::string> wrong_path(const CommandTool& tool) const;
    std::optional<Error> refusal(const core::EffectivePolicy& policy,
                                 std::vector<std::string>& unenforced) const;
    int filter_of(const core::EffectivePolicy& policy) const;

    CommandServices services_;
    Options options_;
    std::map<std::string, CommandTool, std::less<>> tools_;
    TimerWheel no_timers_;  ///< unused: the threads watch the time
    /// The elevated_paths of all tools, and their targets at start
    std::map<std::string, std::filesystem::path, std::less<>> elevated_;
    std::array<Descriptor, 4> filters_;  ///< by filter_index()
};

/// The tools of `host` for the registry, with source kind command, named after the provider.
/// Errors: kInvalidArgs naming the tool (a schema that does not compile, a program that is not in
/// the sandbox).
Result<std::vector<core::ToolRef>> make_command_tools(const std::shared_ptr<CommandHost>& host);

}  // namespace crab::command
