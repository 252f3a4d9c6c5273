#pragma once

#include "base/clock.hpp"
#include "base/descriptor.hpp"
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

/// What all commands of a process share.
struct CommandServices {
    const Clock& clock;
    BlockingPool& threads;               ///< one is taken for as long as a command runs
    /// As many as threads: commands wait there, under their deadlines; null: there are always
    /// enough
    std::shared_ptr<core::ToolGate> places{};
    SandboxAbilities abilities;
    std::shared_ptr<const Worktrees> worktrees;
    /// Says in place of the bindings which worktree an agent or principal is bound to, empty for
    /// none; null: the bindings count. Errors: kUnavailable. On the event loop of the call.
    // the same `call` for every attempt of one
    using BoundWorktree =
        std::function<Task<Result<std::string>>(std::string agent, std::string call)>;
    BoundWorktree bound_worktree{};
    /// For `env: {NAME: {secret: name}}`
    std::map<std::string, Secret<std::string>, std::less<>> secrets{};
    /// Which no command sees
    std::shared_ptr<const OwnFiles> own = std::make_shared<const OwnFiles>();
    /// Which no command writes
    std::shared_ptr<const OwnFiles> relied_on = std::make_shared<const OwnFiles>();
};

/// One provider of commands: its tools run under bubblewrap, within the call's effective policy, or
/// not at all. Source: docs/protocols/sw4rm.md, sections 4, 8, 10 and 11.
class CommandHost final : public core::ToolHost, public std::enable_shared_from_this<CommandHost> {
public:
    struct Options {
        std::string id;  ///< the provider's
        std::string worktree;  ///< for callers bound nowhere else; empty: none
        std::shared_ptr<Egress> egress;  ///< the way to the hosts that are listed; null: none are
        bool advisory = false;  ///< labels that cannot be kept are told, not refused
    };
    CommandHost(CommandServices services, Options options, std::vector<CommandTool> tools);

    /// Errors: kInvalidArgs (arguments that no command can be made of, worktree paths),
    /// kWorktreeNotBound, kPolicyUnenforceable, kTimeout, kWallTimeout, kCpuBudgetExceeded,
    /// kCancelled, kOversize, kToolFailed with exit status and the end of standard error;
    /// kUnavailable when the sandbox did not start. Returns when no process of the command is left.
    Task<core::Outcome> run(core::AdmittedCall call, core::FrameSink& sink) override;
    /// The worktree that the call would run in.
    Task<Result<std::string>> place_of(const core::Call& call,
                                       const core::Principal& principal) const override;

    /// What the configuration names and this process does not have, or may not have:
    /// `elevated_paths` that meet a worktree or what is crab's own. Errors: kInvalidArgs that names
    /// the tool.
    Result<void> check() const;
    const Options& options() const { return options_; }
    const std::shared_ptr<core::ToolGate>& places() const { return services_.places; }
    const std::map<std::string, CommandTool, std::less<>>& tools() const { return tools_; }

private:
    Task<Result<const Worktree*>> worktree_of(const core::Call& call,
                                              const core::Principal& principal) const;
    Result<CommandOrder> order_of(const core::AdmittedCall& call, const CommandTool& tool,
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
    TimerWheel no_timers_;  ///< never used: the threads keep the clocks
    /// The elevated_paths of all tools, and where they led at the start
    std::map<std::string, std::filesystem::path, std::less<>> elevated_;
    std::array<Descriptor, 4> filters_;  ///< by filter_index()
};

/// The tools of `host` as the registry takes them: source kind command, named after the provider.
/// Errors: kInvalidArgs that names the tool (a schema that does not compile, a program that is not
/// in the sandbox).
Result<std::vector<core::ToolRef>> make_command_tools(const std::shared_ptr<CommandHost>& host);

}  // namespace crab::command
