#include "apps/crab/gateway/hooks.hpp"

#include "base/glob.hpp"
#include "base/subprocess.hpp"
#include "json/value.hpp"
#include "json/writer.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::app {
namespace {

class ConfiguredHook : public core::Hook {
public:
    explicit ConfiguredHook(const config::HookRule& rule) : name_(rule.name) {
        for (const std::string& pattern : rule.tools) tools_.emplace_back(pattern);
    }
    std::string_view name() const override { return name_; }
    bool applies_to(const core::Tool& tool) const override {
        return std::ranges::any_of(tools_, [&](const Glob& glob) { return glob.matches(tool.spec.name) || glob.matches(tool.unique_name); });
    }

private:
    std::string name_;
    std::vector<Glob> tools_;
};

class DenyHook final : public ConfiguredHook {
public:
    explicit DenyHook(const config::HookRule& rule) : ConfiguredHook(rule), reason_(rule.reason) {}
    Task<core::HookAnswer> before(core::HookView) override {
        co_return core::Deny{reason_.empty() ? fmt::format("denied by the hook {}", name()) : reason_};
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
    ReplaceHook(const config::HookRule& rule, json::Value patch) : ConfiguredHook(rule), patch_(std::move(patch)) {}
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
    CommandHook(const config::HookRule& rule, BlockingPool& pool) : ConfiguredHook(rule), run_(rule.run), timeout_(rule.timeout), pool_(pool) {}

    Task<core::HookAnswer> before(core::HookView view) override {
        std::string input;
        json::Writer writer(input);
        writer.begin_object().key("hook").string(name()).key("call_id").string(view.call.id).key("principal").string(view.principal.id);
        writer.key("tool").string(view.tool.spec.name).key("source").string(view.tool.source.name).key("session_id").string(view.call.context.session_id);
        // Bytes are no arguments: a program that expects some must not take them for an empty object.
        const bool bytes = !view.call.body_type.empty();
        writer.key("args").raw(bytes ? "null" : view.call.args);
        if (bytes) writer.key("body").begin_object().key("content_type").string_lossy(view.call.body_type).key("bytes").unsigned_integer(view.call.body.size()).end_object();
        writer.end_object();
        auto work = [argv = run_, given = std::move(input), timeout = timeout_] {
            return run_subprocess({.argv = argv, .input = given, .environment = {}, .deadline = std::chrono::steady_clock::now() + timeout, .max_output_bytes = std::size_t{1} << 20});
        };
        const auto ended = co_await pool_.run(std::move(work));
        if (!ended) co_return core::Deny{fmt::format("the hook {} could not be run: {}", name(), ended.error().message)};
        if (ended->exit_status != 0) co_return core::Deny{fmt::format("the hook {} failed with exit status {}", name(), ended->exit_status)};
        const auto answer = json::Value::parse(ended->output);
        const json::Value* decision = answer ? answer->find("decision") : nullptr;
        const std::string* word = decision != nullptr ? decision->as_string() : nullptr;
        if (word != nullptr && *word == "proceed") co_return core::Proceed{};
        if (word != nullptr && *word == "replace" && answer->find("args") != nullptr) co_return core::Replace{answer->find("args")->dump()};
        if (word != nullptr && *word == "deny") {
            const json::Value* reason = answer->find("reason");
            const std::string* text = reason != nullptr ? reason->as_string() : nullptr;
            co_return core::Deny{text != nullptr ? *text : std::string()};
        }
        co_return core::Deny{fmt::format("the hook {} gave no decision", name())};
    }

private:
    std::vector<std::string> run_;
    Milliseconds timeout_;
    BlockingPool& pool_;
};

}  // namespace

Result<std::shared_ptr<core::Hook>> make_hook(const config::HookRule& rule, BlockingPool& pool) {
    switch (rule.type) {
        case config::HookType::kDeny: return std::make_shared<DenyHook>(rule);
        case config::HookType::kReplace: {
            auto patch = json::Value::parse(rule.args_json);
            if (!patch || !patch->is_object()) return fail(ErrorCode::kInvalidArgs, fmt::format("hooks: {}: args must be an object", rule.name));
            return std::make_shared<ReplaceHook>(rule, std::move(*patch));
        }
        case config::HookType::kCommand:
            if (rule.run.empty()) return fail(ErrorCode::kInvalidArgs, fmt::format("hooks: {}: run must name a program", rule.name));
            return std::make_shared<CommandHook>(rule, pool);
    }
    return fail(ErrorCode::kInvalidArgs, fmt::format("hooks: {}: unknown type", rule.name));
}

}  // namespace crab::app
