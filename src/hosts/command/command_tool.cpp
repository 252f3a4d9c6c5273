#include "hosts/command/command_tool.hpp"

#include "base/duration_text.hpp"
#include "hosts/command/worktree_path.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace crab::command {
namespace {

using namespace std::string_view_literals;

constexpr std::uint32_t kDefaultConcurrency = 16;

/// Reads the members of one object; the first thing wrong is kept, with the member's name.
class Reader {
public:
    Reader(const json::Value* object, std::string where, std::optional<std::string>& problem)
        : object_(object), where_(std::move(where)), problem_(problem) {}

    Reader in(std::string_view name) const { return Reader(find(name), path(name), problem_); }
    const json::Value* find(std::string_view name) const {
        return object_ ? object_->find(name) : nullptr;
    }

    const Reader& operator()(std::string_view name, std::string& out) const {
        if (const json::Value* value = find(name); value && value->as_string())
            out = *value->as_string();
        return *this;
    }
    const Reader& operator()(std::string_view name, bool& out) const {
        if (const json::Value* value = find(name); value && value->as_bool())
            out = *value->as_bool();
        return *this;
    }
    template <class T>
        requires std::is_integral_v<T>
    const Reader& operator()(std::string_view name, T& out) const {
        if (const json::Value* value = find(name))
            out = static_cast<T>(value->as_int64().value_or(static_cast<std::int64_t>(out)));
        return *this;
    }
    const Reader& operator()(std::string_view name, std::vector<int>& out) const {
        const json::Value* value = find(name);
        if (!value || !value->as_array()) return *this;
        out.clear();
        for (const json::Value& item : *value->as_array())
            out.push_back(static_cast<int>(item.as_int64().value_or(0)));
        return *this;
    }
    const Reader& operator()(std::string_view name, std::vector<std::string>& out) const {
        const json::Value* value = find(name);
        if (!value || !value->as_array()) return *this;
        for (const json::Value& item : *value->as_array()) {
            if (item.as_string()) out.push_back(*item.as_string());
        }
        return *this;
    }
    const Reader& duration(std::string_view name, Milliseconds& out) const {
        return word(name, out, [](std::string_view text) -> std::optional<Milliseconds> {
            const auto parsed = parse_duration(text);
            return parsed && parsed->count() > 0
                       ? std::optional(std::chrono::duration_cast<Milliseconds>(*parsed))
                       : std::nullopt;
        });
    }
    /// A word that `parse` gives a meaning.
    template <class T, class Parse>
    const Reader& word(std::string_view name, T& out, Parse parse) const {
        const json::Value* value = find(name);
        if (!value || !value->as_string()) return *this;
        if (auto parsed = parse(*value->as_string()))
            out = *parsed;
        else
            say(name, fmt::format("{} has no meaning here", *value->as_string()));
        return *this;
    }
    void say(std::string_view name, std::string_view what) const {
        if (!problem_) problem_ = fmt::format("{}: {}", path(name), what);
    }

private:
    std::string path(std::string_view name) const {
        return where_.empty() ? std::string(name) : fmt::format("{}.{}", where_, name);
    }
    const json::Value* object_;
    std::string where_;
    std::optional<std::string>& problem_;
};

std::optional<Streams> find_streams(std::string_view word) {
    if (word == "none") return Streams::kNone;
    if (word == "lines") return Streams::kLines;
    if (word == "bytes") return Streams::kBytes;
    return std::nullopt;
}

std::optional<Errors> find_errors(std::string_view word) {
    if (word == "log") return Errors::kLog;
    if (word == "merge") return Errors::kMerge;
    if (word == "discard") return Errors::kDiscard;
    return std::nullopt;
}

void read_defaults(const Reader& defaults, core::PolicyDefaults& out, std::uint64_t& memory) {
    defaults.duration("timeout", out.timeout)
        .duration("cpu", out.budget_cpu)
        .duration("wall", out.budget_wall);
    defaults("max_retries", out.max_retries).word("backoff", out.backoff, core::find_backoff);
    defaults.word("network", out.network, core::find_network)
        .word("privilege", out.privilege, core::find_privilege);
    defaults.word("memory", memory, parse_size);
}

void read_ceilings(const Reader& ceilings, core::PolicyCeilings& out) {
    ceilings.duration("timeout", out.timeout)
        .duration("cpu", out.budget_cpu)
        .duration("wall", out.budget_wall);
    ceilings("max_retries", out.max_retries);
    ceilings.word("network", out.network, core::find_network)
        .word("privilege", out.privilege, core::find_privilege);
}

void read_input(const Reader& tool, CommandTool& out) {
    std::string word = "none";
    tool("stdin", word);
    out.input = word == "none"   ? Input::kNone
                : word == "args" ? Input::kArguments
                                 : Input::kArgument;
    if (out.input == Input::kArgument) out.input_argument = word;
}

/// `NAME: text`, `NAME: {secret: name}`, `NAME: {argument: name}`.
Result<Variable> read_variable(const std::string& name, const json::Value& value) {
    const bool good_name = !name.empty() && name.find_first_of("=\0"sv) == name.npos;
    if (good_name && value.as_string())
        return Variable{.name = name, .kind = Variable::Kind::kText, .value = *value.as_string()};
    const json::Value* secret = value.find("secret");
    const json::Value* argument = value.find("argument");
    const json::Value* which = secret ? secret : argument;
    if (!good_name || !which || !which->as_string() || (secret && argument)) {
        return fail(
            ErrorCode::kInvalidArgs,
            fmt::format("env.{}: write a text, {{secret: name}} or {{argument: name}}", name));
    }
    return Variable{.name = name,
                    .kind = secret ? Variable::Kind::kSecret : Variable::Kind::kArgument,
                    .value = *which->as_string()};
}

/// The schemas, and which arguments are paths; gives the schema of the arguments back.
json::Value read_schemas(const Reader& root, CommandTool& out) {
    json::Value input_schema =
        json::Value::object({{"type", "object"}, {"additionalProperties", false}});
    if (const json::Value* given = root.find("input_schema")) input_schema = *given;
    out.spec.input_schema = input_schema.dump();
    if (const json::Value* given = root.find("output_schema"))
        out.spec.output_schema = given->dump();
    out.path_arguments = worktree_path_arguments(input_schema);
    return input_schema;
}

void read_effects(const Reader& root, core::ToolSpec& spec) {
    spec.side_effects = true;
    if (const json::Value* effects = root.find("side_effects"); effects && effects->as_array())
        spec.side_effects = !effects->as_array()->empty();
    spec.effects_known = true;
    spec.annotations = {.read_only = !spec.side_effects,
                        .destructive = spec.side_effects,
                        .idempotent = spec.idempotent,
                        .open_world = {},
                        .trusted = true};
}

Result<std::vector<Variable>> read_environment(const Reader& root) {
    std::vector<Variable> variables;
    const json::Value* environment = root.find("env");
    if (environment == nullptr || !environment->as_object()) return variables;
    for (const auto& [name, value] : *environment->as_object()) {
        auto variable = read_variable(name, value);
        if (!variable) return fail(variable.error());
        variables.push_back(std::move(*variable));
    }
    return variables;
}

/// Every argument that the command line, the input or the environment names is in the schema.
Result<void> check_arguments(const CommandTool& tool, const json::Value& input_schema) {
    auto names = tool.argv.names();
    if (tool.input == Input::kArgument) names.push_back(tool.input_argument);
    for (const Variable& variable : tool.environment) {
        if (variable.kind == Variable::Kind::kArgument) names.push_back(variable.value);
    }
    const json::Value* properties = input_schema.find("properties");
    for (const std::string& name : names) {
        if (!properties || !properties->find(name))
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("{} is used, but is not a property of input_schema", name));
    }
    return {};
}

void read_output(const Reader& output, CommandTool& out) {
    output("content_type", out.content_type)
        .word("streams", out.streams, find_streams)
        .word("stderr", out.errors, find_errors);
    output.word("max_bytes", out.max_output_bytes, parse_size);
    out.spec.streams = out.streams != Streams::kNone;
}

void read_limits(const Reader& root, CommandTool& out) {
    std::uint32_t concurrency = kDefaultConcurrency;
    root("max_concurrency", concurrency)("queue", out.queue)("processes", out.processes);
    out.spec.max_concurrency = concurrency;
    auto& [defaults, ceilings] = out.limits;
    read_defaults(root.in("defaults"), defaults, out.memory_bytes);
    read_ceilings(root.in("ceilings"), ceilings);
    defaults.needs_worktree = out.spec.needs_worktree;
    ceilings.timeout = std::max(ceilings.timeout, defaults.timeout);
    out.spec.default_timeout = defaults.timeout;
    out.spec.max_timeout = ceilings.timeout;
}

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number > (std::uint64_t{1} << 40)) return std::nullopt;
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    if (unit.empty()) return number;
    if (unit == "KiB") return number << 10;
    if (unit == "MiB") return number << 20;
    if (unit == "GiB") return number << 30;
    return std::nullopt;
}

Result<CommandTool> read_command_tool(const json::Value& item) {
    CommandTool tool;
    std::optional<std::string> problem;
    const Reader root(&item, {}, problem);
    core::ToolSpec& spec = tool.spec;
    root("name", spec.name)("title", spec.title)("description", spec.description)(
        "idempotent", spec.idempotent)("needs_worktree", spec.needs_worktree);
    const auto refused = [&](std::string_view what) {
        return fail(ErrorCode::kInvalidArgs, fmt::format("tool {}: {}", spec.name, what));
    };
    const json::Value input_schema = read_schemas(root, tool);
    const json::Value* argv = root.find("argv");
    auto parsed = ArgvTemplate::parse(argv ? *argv : json::Value());
    if (!parsed) return refused(parsed.error().message);
    tool.argv = std::move(*parsed);
    read_input(root, tool);
    auto environment = read_environment(root);
    if (!environment) return refused(environment.error().message);
    tool.environment = std::move(*environment);
    if (auto known = check_arguments(tool, input_schema); !known)
        return refused(known.error().message);
    read_effects(root, spec);
    root("ok_exit", tool.ok_exit)("retryable_exit", tool.retryable_exit)(
        "elevated_paths", tool.elevated_paths)("accepts", spec.accepts);
    if (!spec.accepts.empty() && tool.input != Input::kArguments)
        return refused("accepts needs stdin: args, where the bytes come");
    read_output(root.in("output"), tool);
    read_limits(root, tool);
    if (problem) return refused(*problem);
    return tool;
}

}  // namespace crab::command
