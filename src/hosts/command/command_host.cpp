#include "hosts/command/command_host.hpp"

#include "base/scope_exit.hpp"
#include "hosts/command/seccomp_filter.hpp"
#include "hosts/command/worktree_path.hpp"
#include "json/parser.hpp"
#include "json/writer.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::command {
namespace {

constexpr std::size_t kMostKept = std::size_t{1} << 20;   ///< of streamed output, as the ledger
constexpr std::size_t kTailInMessage = 1024;
constexpr std::size_t kTailInDetails = 8 * 1024;
constexpr int kScopesSignals = 6;   ///< the ABI of Landlock that does

bool contains(const std::vector<int>& list, int value) {
    return std::ranges::find(list, value) != list.end();
}

/// The last bytes of `text`, from the begin of a character on.
std::string_view end_of(std::string_view text, std::size_t most) {
    if (text.size() <= most) return text;
    text.remove_prefix(text.size() - most);
    while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xC0) == 0x80)
        text.remove_prefix(1);
    return text;
}

/// `{"exit_status":3,"stderr":"…","cpu_ms":…}`, for whoever shows an error at length.
std::string details_of(const CommandEnd& end) {
    std::string text;
    json::Writer writer(text);
    writer.begin_object();
    if (end.reason == EndReason::kExited) writer.key("exit_status").integer(end.status);
    if (!end.error_tail.empty())
        writer.key("stderr").string_lossy(end_of(end.error_tail, kTailInDetails));
    writer.key("cpu_ms").integer(end.cpu.count()).key("wall_ms").integer(end.wall.count());
    writer.key("peak_memory_bytes").unsigned_integer(end.peak_memory_bytes).end_object();
    return text;
}

std::string lossy(std::string_view text) {
    std::string quoted;
    json::append_quoted_lossy(quoted, text);
    const auto value = json::Value::parse(quoted);
    return value && value->as_string() ? *value->as_string() : std::string();
}

/// The error in place of a result; nothing when the command ended well.
std::optional<Error> error_of(const CommandEnd& end, const core::AdmittedCall& call,
                              const CommandTool& tool) {
    const auto made = [&](ErrorCode code, std::string message) {
        return fail(code, std::move(message), details_of(end)).error();
    };
    const core::EffectivePolicy& policy = *call.policy();
    switch (end.reason) {
        case EndReason::kExited: break;
        case EndReason::kDeadline:
            return made(
                ErrorCode::kTimeout,
                fmt::format("the command was ended at its timeout of {} ms; it ran for {} ms",
                            policy.timeout.count(), end.wall.count()));
        case EndReason::kWallBudget:
            return made(
                ErrorCode::kWallTimeout,
                fmt::format("the command was ended at its wall budget of {} ms; it ran for {} ms",
                            policy.budget_wall.count(), end.wall.count()));
        case EndReason::kCpuBudget:
            // Of all attempts: this one is in cpu_spent already.
            return made(
                ErrorCode::kCpuBudgetExceeded,
                fmt::format("the command was ended at its CPU budget of {} ms; it used {} ms",
                            policy.budget_cpu.count(), call.call().cpu_spent.count()));
        case EndReason::kCancelled:
            return made(ErrorCode::kCancelled, "the call was cancelled and its command ended");
        case EndReason::kMemory:
            return made(
                ErrorCode::kToolFailed,
                fmt::format("the command used more than its {} bytes of memory and was ended",
                            tool.memory_bytes));
        case EndReason::kProcesses:
            return made(ErrorCode::kToolFailed,
                        fmt::format("the command started more than its {} processes and was ended",
                                    tool.processes));
        case EndReason::kOutput:
            return made(
                ErrorCode::kOversize,
                fmt::format("the command wrote more than {} bytes and was ended; ask it for less",
                            tool.max_output_bytes));
        case EndReason::kDisk:
            return made(ErrorCode::kToolFailed,
                        "the worktree holds more than its max_bytes: nothing that may write runs "
                        "in it; ask its operator to remove files or to raise the limit");
        case EndReason::kNotStarted:
            return made(ErrorCode::kUnavailable,
                        fmt::format("the command did not start: {}", end.failure));
    }
    if (contains(tool.ok_exit, end.status)) return std::nullopt;
    Error error = made(ErrorCode::kToolFailed, {});
    std::string tail = lossy(end_of(end.error_tail, kTailInMessage));
    while (tail.ends_with('\n')) tail.pop_back();
    error.message = fmt::format("the command ended with exit status {}{}{}", end.status,
                                tail.empty() ? "" : ": ", tail);
    error.retryable = tool.spec.idempotent && contains(tool.retryable_exit, end.status);
    return error;
}

core::ToolResult result_of(CommandEnd end, std::string output, const CommandTool& tool) {
    core::ToolResult result;
    const bool is_text =
        tool.content_type.starts_with("text/") || tool.content_type.starts_with("application/json");
    thread_local json::Parser parser;
    const ScopeExit done([] { parser.shrink(); });
    if (tool.content_type.starts_with("application/json") && parser.parse(output)) {
        result.kind = core::ContentKind::kJson;
    } else if (!is_text || !simdjson::validate_utf8(output.data(), output.size())) {
        result.kind = core::ContentKind::kBytes;
        result.content_type = is_text ? "application/octet-stream" : tool.content_type;
    }
    result.content = std::move(output);
    if (!end.error_tail.empty())
        result.logs.push_back(lossy(end_of(end.error_tail, kTailInDetails)));
    result.usage = {.cpu = end.cpu,
                    .wall = end.wall,
                    .peak_memory_bytes = end.peak_memory_bytes,
                    .output_bytes = end.output_bytes,
                    .exit_status = end.status};
    return result;
}

/// Hands output on while the command runs, numbered frames of a bounded size, whole lines if they
/// are wanted.
class Frames {
public:
    Frames(core::FrameSink& sink, const CommandTool& tool) : sink_(sink), tool_(tool) {}

    void put(std::string_view output) {
        if (tool_.streams != Streams::kLines) return send(output);
        line_ += output;
        // npos + 1 is 0
        const std::size_t end = line_.size() >= kMostBytes ? line_.size() : line_.rfind('\n') + 1;
        send(std::string_view(line_).substr(0, end));
        line_.erase(0, end);
    }
    void finish() { send(std::exchange(line_, {})); }

private:
    static constexpr std::size_t kMostBytes = 256 * 1024;
    void send(std::string_view output) {
        for (; !output.empty(); output.remove_prefix(std::min(output.size(), kMostBytes))) {
            sink_.on_frame({.number = ++number_,
                            .data = output.substr(0, kMostBytes),
                            .content_type = tool_.content_type});
        }
    }
    core::FrameSink& sink_;
    const CommandTool& tool_;
    std::string line_;
    std::uint64_t number_ = 0;
};

/// A command that has ended, and its output as far as that is kept.
struct Ended {
    CommandEnd end;
    std::string output;
};

/// Passes on what the command says while it runs. Its end is waited for when the call is cancelled
/// too: when the call has ended nothing of it runs.
Task<Result<Ended>> hear_out(CommandChannel& talk, core::AdmittedCall& call,
                             const CommandTool& tool, core::FrameSink& sink) {
    TaskChain& chain = co_await this_chain();
    const bool streams = call.call().wants_stream && tool.streams != Streams::kNone;
    Frames frames(sink, tool);
    std::string output;
    bool kept = true;
    for (bool cancelled = false;;) {
        CommandChannel::Part part = talk.take();
        if (!part.output.empty() && !cancelled) {
            if (streams) frames.put(part.output);
            kept = kept && (!streams || output.size() + part.output.size() <= kMostKept);
            if (kept)
                output += part.output;
            else
                output = {};
            if (streams) co_await sink.drained();
        }
        if (part.end) {
            call.spend_cpu(part.end->cpu);
            if (cancelled) {
                // as it was before the end was waited for: whoever awaits this has to know
                chain.cancel();
                co_return fail(ErrorCode::kCancelled,
                               "the call was cancelled and its command ended");
            }
            if (streams) frames.finish();
            co_return Ended{std::move(*part.end), std::move(output)};
        }
        if (part.output.empty()) (void)co_await talk.wait();
        if (!chain.cancelled()) continue;
        if (talk.stop())
            co_return fail(ErrorCode::kCancelled,
                           "the call was cancelled before its command began");
        chain.forget_cancellation();
        cancelled = true;
    }
}

/// Filters differ for MINIMAL and the rest, and for the host's network and the rest.
std::size_t filter_index(core::Privilege level, core::Network network) {
    return (level == core::Privilege::kMinimal ? 0U : 1U) +
           (network == core::Network::kFullAccess ? 2U : 0U);
}

}  // namespace

CommandHost::CommandHost(CommandServices services, Options options, std::vector<CommandTool> tools)
    : services_(std::move(services)), options_(std::move(options)), no_timers_(services_.clock) {
    for (CommandTool& tool : tools) {
        for (const std::string& path : tool.elevated_paths) {
            std::error_code error;
            // a command may put a link there later: it is not followed
            elevated_.emplace(path, std::filesystem::weakly_canonical(path, error));
        }
        std::string name = tool.spec.name;
        tools_.insert_or_assign(std::move(name), std::move(tool));
    }
    const bool bare = services_.abilities.confinement() == Confinement::kLandlock;
    const SignalScope signals = !bare ? SignalScope::kNamespace
                                : services_.abilities.landlock_abi >= kScopesSignals
                                    ? SignalScope::kLandlock
                                    : SignalScope::kNobody;
    for (const core::Privilege level : {core::Privilege::kMinimal, core::Privilege::kDefault}) {
        for (const core::Network network : {core::Network::kDenyAll, core::Network::kFullAccess}) {
            const SeccompOptions orders{
                .level = level,
                .signals = signals,
                .unix_sockets = network == core::Network::kFullAccess,
                .memory_is_counted = services_.abilities.cgroups.count_memory()};
            if (auto made = make_seccomp_filter(orders))
                filters_[filter_index(level, network)] = std::move(*made);
        }
    }
}

int CommandHost::filter_of(const core::EffectivePolicy& policy) const {
    return filters_[filter_index(policy.privilege, policy.network)].get();
}

std::optional<Error> CommandHost::refusal(const core::EffectivePolicy& policy,
                                          std::vector<std::string>& unenforced) const {
    // What only a person may grant was granted before the call came here
    // (core/approvals/approvals.hpp).
    const auto check = [&](std::string_view label,
                           std::optional<std::string> missing) -> std::optional<Error> {
        if (!missing) return std::nullopt;
        if (options_.advisory && services_.abilities.confinement() != Confinement::kNone) {
            unenforced.emplace_back(label);
            return std::nullopt;
        }
        return fail(ErrorCode::kPolicyUnenforceable,
                    fmt::format("{} cannot be enforced here: {}; crab doctor shows what can", label,
                                *missing))
            .error();
    };
    if (auto refused = check(name_of(policy.network), services_.abilities.missing(policy.network)))
        return refused;
    return check(name_of(policy.privilege), services_.abilities.missing(policy.privilege));
}

/// nullptr: the call is bound to none.
Task<Result<const Worktree*>> CommandHost::worktree_of(const core::Call& call,
                                                       const core::Principal& principal) const {
    const Worktrees& worktrees = *services_.worktrees;
    // what is only said selects nothing
    const std::string_view agent = call.acts_for_agent ? call.context.agent_id : std::string_view();
    if (!services_.bound_worktree) co_return worktrees.find(agent, principal.id, options_.worktree);
    const std::string_view who = agent.empty() ? std::string_view(principal.id) : agent;
    const auto bound = co_await services_.bound_worktree(
        std::string(who), fmt::format("{} {}", principal.id, call.id));
    if (!bound) co_return fail(bound.error());
    if (bound->empty()) co_return worktrees.find(options_.worktree);
    const Worktree* const worktree = worktrees.find(*bound);
    if (worktree == nullptr)
        co_return fail(
            ErrorCode::kWorktreeNotBound,
            fmt::format(
                "{} is bound to {}, which is not a worktree of this gateway's configuration", who,
                *bound));
    co_return worktree;
}

Task<Result<std::string>> CommandHost::place_of(const core::Call& call,
                                                const core::Principal& principal) const {
    const auto worktree = co_await worktree_of(call, principal);
    if (!worktree) co_return fail(worktree.error());
    co_return *worktree == nullptr ? std::string() : (*worktree)->id;
}

Result<std::vector<std::pair<std::string, std::string>>> CommandHost::environment_of(
    const core::AdmittedCall& call, const CommandTool& tool, json::Element arguments) const {
    std::vector<std::pair<std::string, std::string>> environment{
        {"PATH", std::string(kSandboxPath)},
        {"HOME", "/tmp"},
        {"TMPDIR", "/tmp"},
        {"LANG", "C.UTF-8"},
        {"CRAB_CALL_ID", std::string(call.call().id)}};
    for (const Variable& variable : tool.environment) {
        switch (variable.kind) {
            case Variable::Kind::kText:
                environment.emplace_back(variable.name, variable.value);
                break;
            case Variable::Kind::kSecret:
                environment.emplace_back(variable.name,
                                         services_.secrets.at(variable.value).reveal());
                break;
            case Variable::Kind::kArgument: {
                const auto value = json::get(arguments, variable.value);
                if (!value) break;
                auto text = word_of(variable.value, *value);
                if (!text) return fail(std::move(text.error()));
                environment.emplace_back(variable.name, std::move(*text));
                break;
            }
        }
    }
    return environment;
}

/// What the labels of the policy permit beyond the least.
Result<void> CommandHost::grant(const core::EffectivePolicy& policy, const CommandTool& tool,
                                SandboxRequest& request) const {
    switch (policy.network) {
        case core::Network::kDenyAll: break;
        case core::Network::kEgressRestricted:
            request.network = options_.egress ? NetworkAccess::kProxy : NetworkAccess::kNone;
            break;
        case core::Network::kEgressUnrestricted:
            request.network =
                services_.abilities.slirp.empty() ? NetworkAccess::kNone : NetworkAccess::kOutbound;
            break;
        case core::Network::kFullAccess: request.network = NetworkAccess::kHost; break;
    }
    request.whole_host = policy.privilege == core::Privilege::kPrivileged;
    if (policy.privilege != core::Privilege::kElevated) return {};
    for (const std::string& path : tool.elevated_paths) {
        auto file = FileHandle::open_exactly(elevated_.at(path));
        if (!file && file.error().code == ErrorCode::kNotFound) continue;  // it may come later
        if (!file)
            return fail(ErrorCode::kUnavailable,
                        fmt::format("one of its elevated_paths cannot be opened: {}",
                                    file.error().message));
        request.writable.push_back({.file = std::move(*file), .at = path});
    }
    return {};
}

/// Why not all of its elevated_paths may be written: what a command can change must not be what
/// crab, or another call, relies on.
std::optional<std::string> CommandHost::wrong_path(const CommandTool& tool) const {
    const auto own = services_.own->get();
    std::vector<std::pair<std::string, FileHandle>> before;
    for (const std::string& path : tool.elevated_paths) {
        const auto file = FileHandle::open(path);
        if (!file) continue;
        if (const auto met = own->met_by(*file))
            return fmt::format(
                "elevated_paths: {} and {}, which is crab's own, may not contain each other", path,
                met->string());
        if (const auto met = services_.relied_on->met_by(*file))
            return fmt::format("elevated_paths: {} contains {}, which crab runs or trusts", path,
                               met->string());
        if (const auto met = own->linked_in(*file))
            return fmt::format("elevated_paths: {} holds a hard link of {}, which is crab's own",
                               path, met->string());
        for (const Worktree& worktree : services_.worktrees->all()) {
            if (overlap(*file, worktree.folder))
                return fmt::format("elevated_paths: {} overlaps the worktree {}", path,
                                   worktree.id);
        }
        for (const auto& [other, held] : before) {
            if (overlap(*file, held))
                return fmt::format("elevated_paths: {} overlaps {}", path, other);
        }
        before.emplace_back(path, *file);
    }
    return std::nullopt;
}

Result<void> CommandHost::check() const {
    for (const auto& [name, tool] : tools_) {
        if (const auto wrong = wrong_path(tool))
            return fail(ErrorCode::kInvalidArgs, fmt::format("tool {}: {}", name, *wrong));
        for (const Variable& variable : tool.environment) {
            if (variable.kind != Variable::Kind::kSecret ||
                services_.secrets.contains(variable.value))
                continue;
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("tool {}: env.{}: there is no secret {}; add it under secrets:",
                                    name, variable.name, variable.value));
        }
    }
    return {};
}

Result<SandboxRequest> CommandHost::request_of(const core::AdmittedCall& call,
                                               const CommandTool& tool,
                                               const Worktree* worktree) const {
    thread_local json::Parser parser;  // used between two suspensions only
    const ScopeExit done([] { parser.shrink(); });
    const auto root = parser.parse(call.args());
    if (!root) return fail(root.error());
    SandboxRequest request;
    const core::EffectivePolicy& policy = *call.policy();
    if (policy.worktree_required && worktree == nullptr) {
        return fail(ErrorCode::kWorktreeNotBound,
                    fmt::format("no worktree is bound for {}; bind one with crab worktrees bind",
                                call.principal()->id));
    }
    if (worktree != nullptr) {
        if (auto checked =
                check_worktree_paths(worktree->folder.fd(), tool.path_arguments, root->element());
            !checked)
            return fail(std::move(checked.error()));
        request.worktree = worktree->folder;
        request.worktree_writable =
            policy.privilege != core::Privilege::kMinimal && !worktree->read_only;
    }
    auto words = tool.argv.expand(root->element());
    if (!words) return fail(std::move(words.error()));
    request.argv = std::move(*words);
    auto environment = environment_of(call, tool, root->element());
    if (!environment) return fail(std::move(environment.error()));
    request.environment = std::move(*environment);
    if (auto granted = grant(policy, tool, request); !granted)
        return fail(std::move(granted.error()));
    request.memory_bytes = tool.memory_bytes;
    request.processes = tool.processes;
    request.landlock = services_.abilities.landlock_abi > 0;
    if (policy.budget_cpu.count() > 0)
        request.budget_cpu = policy.budget_cpu - call.call().cpu_spent;
    return request;
}

Result<CommandRequest> CommandHost::order_of(const core::AdmittedCall& call,
                                             const CommandTool& tool, const Worktree* worktree,
                                             std::vector<std::string>& unenforced) const {
    const core::EffectivePolicy& policy = *call.policy();
    if (auto refused = refusal(policy, unenforced)) return fail(std::move(*refused));
    auto request = request_of(call, tool, worktree);
    if (!request) return fail(std::move(request.error()));
    CommandRequest order;
    order.request = std::move(*request);
    order.errors = tool.errors;
    order.max_output_bytes = tool.max_output_bytes;
    order.deadline = call.deadline();
    if (policy.budget_wall.count() > 0)
        order.wall_deadline = call.first_dispatch() + policy.budget_wall;
    order.filter = filter_of(policy);
    if (order.filter < 0)
        return fail(
            ErrorCode::kPolicyUnenforceable,
            "no seccomp filter for these labels can be made here; crab doctor shows what can");
    if (worktree != nullptr && order.request.worktree_writable) order.quota = worktree->quota;
    order.own = services_.own->get();
    if (order.request.network == NetworkAccess::kProxy) order.egress = options_.egress;
    order.user = {.call_id = std::string(call.call().id),
                  .trace_id = std::string(call.call().context.trace_id),
                  .principal = call.principal()->id,
                  .provider = options_.id,
                  .tool = tool.spec.name};
    if (tool.input == Input::kArguments)
        order.input = call.call().body_type.empty() ? call.args() : call.call().body;
    if (tool.input == Input::kArgument) {
        const auto arguments = json::Value::parse(call.args());
        const json::Value* given = arguments ? arguments->find(tool.input_argument) : nullptr;
        if (given != nullptr)
            order.input = given->as_string() ? *given->as_string() : given->dump();
    }
    return order;
}

Task<Result<CommandHost::Prepared>> CommandHost::prepare(const core::AdmittedCall& call) const {
    const auto found = tools_.find(call.tool().spec.name);
    if (found == tools_.end() || call.policy() == nullptr)
        co_return fail(ErrorCode::kToolNotFound, "this provider has no such tool");
    const auto worktree = co_await worktree_of(call.call(), *call.principal());
    if (!worktree) co_return fail(worktree.error());
    Prepared prepared{.tool = found->second, .place = {}, .unenforced = {}, .order = {}};
    if (*worktree != nullptr) prepared.place = (*worktree)->id;
    if (call.approved_place() && *call.approved_place() != prepared.place) {
        co_return fail(ErrorCode::kUnavailable,
                       "the call was approved for another worktree than its caller is bound to "
                       "now; call again");
    }
    auto order = order_of(call, prepared.tool, *worktree, prepared.unenforced);
    if (!order) co_return fail(std::move(order.error()));
    if (call.policy()->budget_cpu.count() > 0 && order->request.budget_cpu.count() <= 0) {
        co_return fail(ErrorCode::kCpuBudgetExceeded,
                       "the CPU budget was used up by the attempts before");
    }
    prepared.order = std::move(*order);
    co_return prepared;
}

Task<core::Outcome> CommandHost::run(core::AdmittedCall call, core::FrameSink& sink) {
    auto prepared = co_await prepare(call);
    if (!prepared) co_return fail(std::move(prepared.error()));
    const CommandTool& tool = prepared->tool;
    const auto talk =
        std::make_shared<CommandChannel>((co_await this_chain()).executor(), no_timers_);
    // a loop that ends drops this coroutine where it waits
    const ScopeExit leave([&] { talk->stop(); });
    services_.threads.post([talk, order = std::move(prepared->order), self = shared_from_this()] {
        if (talk->begin()) talk->end(run_command(self->services_.abilities, order, *talk));
    });
    auto ended = co_await hear_out(*talk, call, tool, sink);
    if (!ended) co_return fail(std::move(ended.error()));
    if (auto error = error_of(ended->end, call, tool)) co_return fail(std::move(*error));
    core::ToolResult result = result_of(std::move(ended->end), std::move(ended->output), tool);
    result.extras = std::make_shared<const core::ResultExtras>(
        core::ResultExtras{.unenforced = std::move(prepared->unenforced),
                           .place = std::move(prepared->place),
                           .presentation = {}});
    co_return result;
}

Result<std::vector<core::ToolRef>> make_command_tools(const std::shared_ptr<CommandHost>& host) {
    if (auto complete = host->check(); !complete) return fail(std::move(complete.error()));
    std::vector<core::ToolRef> tools;
    for (const auto& [name, command] : host->tools()) {
        if (!has_program(command.argv.program())) {
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("tool {}: the program {} is not on the sandbox's path ({})",
                                    name, command.argv.program(), kSandboxPath));
        }
        auto tool = core::make_tool(command.spec);
        if (!tool)
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("tool {}: {}", name, tool.error().message));
        (*tool)->host = host;
        (*tool)->gate = std::make_shared<core::ToolGate>(*command.spec.max_concurrency,
                                                         command.queue, host->places());
        (*tool)->limits = std::make_shared<const core::PolicyLimits>(command.limits);
        (*tool)->set_source({.kind = core::SourceKind::kCommand,
                             .name = host->options().id,
                             .owner = {},
                             .connection = {}});
        tools.push_back(std::move(*tool));
    }
    return tools;
}

}  // namespace crab::command
