#include "gateway/rules/hooks.hpp"

#include "base/glob.hpp"
#include "base/log.hpp"
#include "base/log_budget.hpp"
#include "base/process/subprocess.hpp"
#include "core/call/tool_gate.hpp"
#include "json/value.hpp"
#include "json/writer.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

constexpr std::size_t kHookAtOnce = 8;   ///< processes of one hook

class ConfiguredHook : public core::Hook {
public:
    explicit ConfiguredHook(const config::HookRule& rule) : name_(rule.name) {
        for (const std::string& pattern : rule.tools) tools_.emplace_back(pattern);
    }
    std::string_view name() const override { return name_; }
    bool applies_to(const core::Tool& tool) const override {
        return std::ranges::any_of(tools_, [&](const Glob& glob) {
            return glob.matches(tool.spec.name) || glob.matches(tool.unique_name);
        });
    }

private:
    std::string name_;
    std::vector<Glob> tools_;
};

class DenyHook final : public ConfiguredHook {
public:
    explicit DenyHook(const config::HookRule& rule) : ConfiguredHook(rule), reason_(rule.reason) {}
    Task<core::HookAnswer> before(core::HookView) override {
        co_return core::Deny{reason_.empty() ? fmt::format("denied by the hook {}", name())
                                             : reason_};
    }

private:
    std::string reason_;
};

/// RFC 7396, section 2.
void merge(json::Value& target, const json::Value& patch) {
    const json::Value::Members* members = patch.as_object();
    if (members == nullptr) {
        target = patch;
        return;
    }
    if (!target.is_object()) target = json::Value::object();
    for (const auto& [key, value] : *members) {
        if (value.is_null()) {
            target.erase(key);
        } else if (json::Value* existing = target.find(key)) {
            merge(*existing, value);
        } else {
            json::Value fresh;
            merge(fresh, value);
            target.set(key, std::move(fresh));
        }
    }
}

class ReplaceHook final : public ConfiguredHook {
public:
    ReplaceHook(const config::HookRule& rule, json::Value patch)
        : ConfiguredHook(rule), patch_(std::move(patch)) {}
    Task<core::HookAnswer> before(core::HookView view) override {
        auto args = json::Value::parse(view.call.args);
        if (!args) co_return core::Deny{"the arguments are not JSON"};
        merge(*args, patch_);
        co_return core::Replace{args->dump()};
    }

private:
    json::Value patch_;
};

class CommandHook final : public ConfiguredHook {
public:
    CommandHook(const config::HookRule& rule, BlockingPool& pool)
        : ConfiguredHook(rule),
          run_(rule.run),
          timeout_(rule.timeout),
          pool_(pool),
          gate_(std::make_shared<core::ToolGate>(kHookAtOnce)) {}

    Task<core::HookAnswer> before(core::HookView view) override {
        // Its own time begins when it runs; until then, and over it, the call's deadline counts.
        auto work = [argv = run_, given = question(view), timeout = timeout_,
                     deadline = view.deadline] {
            const Deadline until =
                std::min<Deadline>(deadline, std::chrono::steady_clock::now() + timeout);
            return run_subprocess({.argv = argv,
                                   .input = given,
                                   .environment = {},
                                   .deadline = until,
                                   .max_output_bytes = std::size_t{1} << 20});
        };
        const auto place = co_await gate_->enter(view.timers, view.deadline);
        if (!place)
            co_return core::Deny{
                fmt::format("the hook {} is busy with other calls; call again later", name()),
                place.error().code};
        const auto run = co_await pool_.run_by(std::move(work), view.timers, view.deadline);
        if (!run)
            co_return core::Deny{
                fmt::format("the hook {} was not asked before the call's deadline", name()),
                ErrorCode::kTimeout};
        const Result<SubprocessEnd>& ended = *run;
        if (!ended) {
            core::Deny deny =
                broke(view.call, fmt::format("could not be run: {}", ended.error().message));
            if (std::chrono::steady_clock::now() >= view.deadline) deny.code = ErrorCode::kTimeout;
            co_return deny;
        }
        if (ended->exit_status != 0)
            co_return broke(view.call,
                            fmt::format("failed with exit status {}", ended->exit_status));
        auto answer = read_answer(ended->output);
        if (!answer) co_return broke(view.call, "gave no decision");
        co_return std::move(*answer);
    }

private:
    /// What the program reads from its standard input.
    std::string question(const core::HookView& view) const {
        std::string input;
        json::Writer writer(input);
        writer.begin_object()
            .key("hook")
            .string(name())
            .key("call_id")
            .string(view.call.id)
            .key("principal")
            .string(view.principal.id);
        writer.key("tool")
            .string(view.tool.spec.name)
            .key("source")
            .string(view.tool.source.name)
            .key("session_id")
            .string(view.call.context.session_id);
        // Bytes are no arguments: a program that expects some must not take them for an empty
        // object.
        const bool bytes = !view.call.body_type.empty();
        writer.key("args").raw(bytes ? "null" : view.call.args);
        if (bytes)
            writer.key("body")
                .begin_object()
                .key("content_type")
                .string_lossy(view.call.body_type)
                .key("bytes")
                .unsigned_integer(view.call.body.size())
                .end_object();
        writer.end_object();
        return input;
    }

    /// What the program wrote; nothing: no decision.
    static std::optional<core::HookAnswer> read_answer(std::string_view output) {
        const auto answer = json::Value::parse(output);
        const std::string* word = answer ? answer->find_string("decision") : nullptr;
        if (word == nullptr) return std::nullopt;
        if (*word == "proceed") return core::Proceed{};
        if (*word == "replace" && answer->find("args") != nullptr)
            return core::Replace{answer->find("args")->dump()};
        if (*word != "deny") return std::nullopt;
        return core::Deny{answer->text("reason")};
    }

    /// A hook that does not decide denies; the operator is told, for the caller can do nothing
    /// about it.
    core::Deny broke(const core::Call& call, const std::string& what) {
        if (const auto left_out = complaints_.take(std::chrono::steady_clock::now())) {
            log::error("a hook does not work, and so calls are denied",
                       {{"hook", name()},
                        {"call_id", call.id},
                        {"trace_id", call.context.trace_id},
                        {"reason", what},
                        {"left_out", *left_out}});
        }
        return {fmt::format("the hook {} {}", name(), what)};
    }

    log::Budget complaints_{30};
    std::vector<std::string> run_;
    Milliseconds timeout_;
    BlockingPool& pool_;
    /// Its own, so that one that hangs does not hold up the others
    const std::shared_ptr<core::ToolGate> gate_;
};

}  // namespace

std::size_t threads_of(const std::vector<config::HookRule>& hooks) {
    constexpr std::size_t kMost = 64;
    const auto programs =
        std::ranges::count(hooks, config::HookType::kCommand, &config::HookRule::type);
    return std::clamp<std::size_t>(kHookAtOnce * static_cast<std::size_t>(programs), kHookAtOnce,
                                   kMost);
}

Result<std::shared_ptr<core::Hook>> make_hook(const config::HookRule& rule, BlockingPool& pool) {
    switch (rule.type) {
        case config::HookType::kDeny: return std::make_shared<DenyHook>(rule);
        case config::HookType::kReplace: {
            auto patch = json::Value::parse(rule.args_json);
            if (!patch || !patch->is_object())
                return fail(ErrorCode::kInvalidArgs,
                            fmt::format("hooks: {}: args must be an object", rule.name));
            return std::make_shared<ReplaceHook>(rule, std::move(*patch));
        }
        case config::HookType::kCommand:
            if (rule.run.empty())
                return fail(ErrorCode::kInvalidArgs,
                            fmt::format("hooks: {}: run must name a program", rule.name));
            return std::make_shared<CommandHook>(rule, pool);
    }
    return fail(ErrorCode::kInvalidArgs, fmt::format("hooks: {}: unknown type", rule.name));
}

}  // namespace crab::gateway
