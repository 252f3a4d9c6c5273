#include "cli/client_config.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crab::cli {
namespace {

using json::Value;
namespace fs = std::filesystem;

struct Client {
    ClientKind kind;
    std::string_view name, root;
};
constexpr std::array<Client, 9> kClients = {{
    {ClientKind::kClaudeDesktop, "claude-desktop", "mcpServers"},
    {ClientKind::kClaudeCode, "claude-code", "mcpServers"},
    {ClientKind::kCursor, "cursor", "mcpServers"},
    {ClientKind::kVsCode, "vscode", "servers"},
    {ClientKind::kWindsurf, "windsurf", "mcpServers"},
    {ClientKind::kZed, "zed", "context_servers"},
    {ClientKind::kGemini, "gemini", "mcpServers"},
    {ClientKind::kCodex, "codex", "mcp_servers"},
    {ClientKind::kOpencode, "opencode", "mcp"},
}};

std::string_view root_of(ClientKind kind) {
    return std::ranges::find(kClients, kind, &Client::kind)->root;
}

/// A key of `mcp.servers`, of which there is none yet.
std::string key_of(std::string_view name, std::set<std::string, std::less<>>& taken) {
    std::string key;
    for (const char c : name.substr(0, 28)) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (plain)
            key += c;
        else if (c >= 'A' && c <= 'Z')
            key += static_cast<char>(c - 'A' + 'a');
        else if (!key.ends_with('-'))
            key += '-';
    }
    while (key.starts_with('-')) key.erase(0, 1);
    while (key.ends_with('-')) key.pop_back();
    if (key.empty()) key = "server";
    std::string made = key;
    for (int i = 2; !taken.insert(made).second; ++i) made = fmt::format("{}-{}", key, i);
    return made;
}

bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// One server of a client's file, on its way to an entry of `mcp.servers`.
class Conversion {
public:
    Conversion(ClientKind kind, const Value& from, const Value& inputs,
               const ImportContext& context)
        : kind_(kind), from_(from), inputs_(inputs), context_(context) {}

    Result<ImportedServer> convert() {
        start();
        remote();
        environment();
        limits();
        left_over();
        if (to_.find("command") == nullptr && to_.find("url") == nullptr) {
            const bool is_extension =
                kind_ == ClientKind::kZed && from_.find("settings") != nullptr;
            return fail(ErrorCode::kInvalidArgs,
                        is_extension ? "an extension of the editor starts it: see crab mcp add"
                                     : "it has neither a command nor a URL");
        }
        to_.set("pin", "ask");
        ImportedServer made;
        made.server = std::move(to_);
        made.notes = std::move(notes_);
        made.uses = std::move(uses_);
        return made;
    }

private:
    const Value* take(std::string_view name) {
        known_.emplace(name);
        return from_.find(name);
    }
    const std::string* take_text(std::string_view name) {
        const Value* const member = take(name);
        return is_form(name, member, member != nullptr && member->as_string(), "text")
                   ? member->as_string()
                   : nullptr;
    }
    const Value* take_list(std::string_view name) {
        const Value* const member = take(name);
        return is_form(name, member, member != nullptr && member->is_array(), "list") ? member
                                                                                      : nullptr;
    }
    const Value* take_table(std::string_view name) {
        const Value* const member = take(name);
        return is_form(name, member, member != nullptr && member->is_object(), "object") ? member
                                                                                         : nullptr;
    }
    /// Clients differ in what they make of a member in another form; here it is left out.
    bool is_form(std::string_view name, const Value* member, bool is_it, std::string_view form) {
        if (!is_it && member != nullptr && !member->is_null())
            note(fmt::format("{} is not taken over: it is no {}", name, form));
        return is_it;
    }
    void note(std::string text) { notes_.push_back(std::move(text)); }

    /// The value of a reference without its braces; nothing, with a note, when there is none.
    std::optional<std::string> value_of(std::string_view reference) {
        if (reference == "userHome") return context_.home.string();
        if (reference == "workspaceFolder") return context_.workspace.string();
        if (reference == "workspaceFolderBasename") return context_.workspace.filename().string();
        if (reference == "pathSeparator" || reference == "/") return "/";
        if (reference.starts_with("input:")) return input(reference.substr(6));
        if (reference.starts_with("env:")) reference.remove_prefix(4);
        const std::size_t fallback = reference.find(":-");
        const std::string_view name = reference.substr(0, fallback);
        auto value = context_.environment(name);
        if (value) read_.push_back(fmt::format("${}", name));
        if (value && !(value->empty() && fallback != std::string_view::npos)) return value;
        if (fallback != std::string_view::npos) return std::string(reference.substr(fallback + 2));
        note(fmt::format("{} is not set here", name));
        return std::nullopt;
    }
    std::optional<std::string> input(std::string_view id) {
        std::string about(id);
        if (const auto* const list = inputs_.as_array()) {
            for (const Value& one : *list) {
                const std::string* const its = one.find_string("id");
                const std::string* const said = one.find_string("description");
                if (its != nullptr && *its == id && said != nullptr) about = *said;
            }
        }
        auto value = context_.ask(id, about);
        if (value) read_.push_back(fmt::format("the input {}", id));
        if (!value) note(fmt::format("the input {} has no value", id));
        return value;
    }
    /// What opencode reads in the place of `{file:path}`.
    std::optional<std::string> content_of(std::string_view path) {
        auto content = context_.read_file(path.starts_with("~/") ? context_.home / path.substr(2)
                                                                 : context_.workspace / path);
        if (!content) {
            note(fmt::format("{{file:{}}}: {}", path, content.error().message));
            return std::nullopt;
        }
        const std::size_t last = content->find_last_not_of(" \t\r\n");
        content->erase(last == std::string::npos ? 0 : last + 1);
        read_.push_back(fmt::format("the file {}", path));
        return std::move(*content);
    }
    /// Takes a reference from the front of a text, with the `$` or `{` that may begin one; nothing,
    /// and only that character is taken, when it is none.
    std::optional<std::string_view> take_reference(std::string_view& text) const {
        const bool braces_only = kind_ == ClientKind::kOpencode;
        const std::size_t open = braces_only ? 0 : 1, close = text.find('}');
        std::size_t size = 0;
        std::string_view found;
        if (text.substr(open).starts_with('{') && close != std::string_view::npos) {
            found = text.substr(open + 1, close - open - 1);
            size = close + 1;
        } else if (kind_ == ClientKind::kGemini) {
            const std::string_view rest = text.substr(1);
            found =
                rest.substr(0, static_cast<std::size_t>(
                                   std::ranges::find_if_not(rest, is_name_char) - rest.begin()));
            size = found.size() + 1;
        }
        const bool is_one = !braces_only || found.starts_with("env:") || found.starts_with("file:");
        if (found.empty() || !is_one) return std::nullopt;
        text.remove_prefix(size);
        return found;
    }
    /// The text with its references replaced, in the form of `mcp.servers`; nothing when one has no
    /// value.
    std::optional<std::string> resolved(std::string_view text) {
        const bool is_opencode = kind_ == ClientKind::kOpencode;
        std::string out;
        while (!text.empty()) {
            const std::size_t at = text.find(is_opencode ? '{' : '$');
            out += text.substr(0, at);
            if (at == std::string_view::npos) break;
            text.remove_prefix(at);
            const auto reference = take_reference(text);
            if (!reference) {
                out += text[0];
                text.remove_prefix(1);
                continue;
            }
            const auto value = is_opencode && reference->starts_with("file:")
                                   ? content_of(reference->substr(5))
                                   : value_of(*reference);
            if (!value) return std::nullopt;
            out += *value;
        }
        return escaped(std::move(out));
    }
    /// What of `${` is in a value is meant as it stands: whatever goes into `to_` comes from here,
    /// or the file could name the gateway's own secrets.
    static std::string escaped(std::string text) {
        for (std::size_t at = text.find("${"); at != std::string::npos;
             at = text.find("${", at + 3))
            text.insert(at, "$");
        return text;
    }
    /// The value of a variable that the file names without `${}`.
    std::optional<std::string> variable(const std::string& name) {
        if (name.empty() || !std::ranges::all_of(name, is_name_char)) {
            note(fmt::format("{} is no name of a variable", name));
            return std::nullopt;
        }
        auto value = value_of(name);
        if (!value) return std::nullopt;
        return escaped(std::move(*value));
    }
    /// Says whose values have gone there since the last time.
    void note_use(std::string_view where) {
        if (!read_.empty()) uses_.push_back(fmt::format("{}: {}", where, fmt::join(read_, ", ")));
        read_.clear();
    }
    void set_text(std::string_view name, const std::string* text) {
        if (text == nullptr) return;
        if (auto value = resolved(*text)) to_.set(name, std::move(*value));
        note_use(name);
    }
    Value texts(const Value& list) {
        Value out = Value::array();
        for (const Value& one : *list.as_array()) {
            const std::string text = one.as_string() ? *one.as_string() : one.dump();
            if (auto value = resolved(text)) out.push_back(std::move(*value));
        }
        note_use("args, which all programs of this machine can see");
        return out;
    }
    /// Entries of a mapping of texts go to `out`.
    void add_table(const Value* table, Value& out) {
        if (table == nullptr) return;
        for (const auto& [name, value] : *table->as_object()) {
            if (value.is_null()) continue;
            const std::string text = value.as_string() ? *value.as_string() : value.dump();
            if (auto made = resolved(text)) out.set(name, std::move(*made));
            note_use(name);
        }
    }

    void start() {
        const Value* const command = take("command");
        const Value* args = take_list("args");
        if (command == nullptr) return;
        if (const auto* const argv = command->as_array(); argv != nullptr && !argv->empty()) {
            set_text("command", (*argv)[0].as_string());
            args_ = texts(Value::array({argv->begin() + 1, argv->end()}));
        } else if (command->is_object()) {
            set_text("command", command->find_string("path"));
            const Value *const own = command->find("args"), *const env = command->find("env");
            if (is_form("args", own, own != nullptr && own->is_array(), "list")) args = own;
            if (is_form("env", env, env != nullptr && env->is_object(), "object"))
                add_table(env, env_);
        } else {
            set_text("command", command->as_string());
            is_form("command", command, command->as_string() != nullptr, "text");
        }
        if (args != nullptr && args_.is_null()) args_ = texts(*args);
        if (args_.is_array() && !args_.as_array()->empty()) to_.set("args", std::move(args_));
        if (const std::string* const cwd = take_text("cwd")) {
            set_text("cwd", cwd);
            folder_from_workspace();
        }
    }
    /// The gateway runs elsewhere than the client.
    void folder_from_workspace() {
        const std::string* const cwd = to_.find_string("cwd");
        if (cwd == nullptr || cwd->empty() || cwd->starts_with('/')) return;
        to_.set("cwd", (context_.workspace / *cwd).lexically_normal().string());
    }
    void remote() {
        for (const std::string_view name : {"url", "serverUrl", "httpUrl"}) {
            if (const std::string* const url = take_text(name);
                url && to_.find("command") == nullptr)
                set_text("url", url);
        }
        const std::string* const type = take_text("type");
        if (type != nullptr && *type == "sse" && to_.find("url") != nullptr) to_.set("era", "sse");
        Value headers = Value::object();
        add_table(take_table("headers"), headers);
        add_table(take_table("http_headers"), headers);
        if (const Value* const names = take_table("env_http_headers"); names != nullptr) {
            for (const auto& [header, variable] : *names->as_object()) {
                if (variable.as_string() == nullptr) continue;
                if (auto value = this->variable(*variable.as_string())) headers.set(header, *value);
                note_use(header);
            }
        }
        if (const std::string* const name = take_text("bearer_token_env_var")) {
            if (auto token = variable(*name)) headers.set("Authorization", "Bearer " + *token);
            note_use("Authorization");
        }
        if (!headers.as_object()->empty() && to_.find("url") != nullptr)
            to_.set("auth", Value::object({{"headers", std::move(headers)}}));
    }
    void environment() {
        if (const std::string* const file = take_text("envFile")) add_env_file(*file);
        add_table(take_table("env"), env_);
        add_table(take_table("environment"), env_);
        add_variables(take_list("env_vars"));
        if (!env_.as_object()->empty() && to_.find("command") != nullptr)
            to_.set("env", std::move(env_));
    }
    /// Codex's own that it hands on: names, or {name, source}.
    void add_variables(const Value* names) {
        if (names == nullptr) return;
        for (const Value& one : *names->as_array()) {
            const std::string* const source = one.find_string("source");
            const std::string* const name =
                one.as_string() ? one.as_string() : one.find_string("name");
            if (name == nullptr) continue;
            if (source != nullptr && *source != "local") {
                note(fmt::format("{} is of another machine", *name));
            } else if (auto value = variable(*name)) {
                env_.set(*name, std::move(*value));
            }
            note_use(*name);
        }
    }
    void add_env_file(const std::string& name) {
        const auto path = resolved(name);
        const auto text =
            path ? context_.read_file(*path) : fail(ErrorCode::kNotFound, "its name has no value");
        if (!text) return note(fmt::format("envFile {}: {}", name, text.error().message));
        std::string_view rest = *text;
        while (!rest.empty()) {
            std::string_view line = rest.substr(0, rest.find('\n'));
            rest.remove_prefix(std::min(line.size() + 1, rest.size()));
            if (line.ends_with('\r')) line.remove_suffix(1);
            if (line.starts_with("export ")) line.remove_prefix(7);
            const std::size_t at = line.find('=');
            if (line.empty() || line[0] == '#' || at == std::string_view::npos) continue;
            std::string_view value = line.substr(at + 1);
            if (value.size() > 1 && (value[0] == '"' || value[0] == '\'') &&
                value.back() == value[0])
                value = value.substr(1, value.size() - 2);
            env_.set(line.substr(0, at), escaped(std::string(value)));
        }
    }
    void duration(std::string_view from, std::string_view to, double unit_ms) {
        const Value* const member = take(from);
        const auto given = member != nullptr ? member->as_double() : std::nullopt;
        if (!given || *given <= 0) return;
        const auto ms = static_cast<std::int64_t>(*given * unit_ms);
        to_.set(to, fmt::format("{}ms", ms));
        if (to == "timeout" && ms > 600'000) to_.set("max_timeout", fmt::format("{}ms", ms));
    }
    static Value literals(const Value& list) {
        Value out = Value::array();
        for (const Value& one : *list.as_array())
            out.push_back(one.as_string() ? Value(escaped(*one.as_string())) : one);
        return out;
    }
    void limits() {
        if (kind_ == ClientKind::kGemini || kind_ == ClientKind::kOpencode)
            duration("timeout", "timeout", 1);
        if (kind_ == ClientKind::kZed) duration("timeout", "timeout", 1000);
        duration("startup_timeout_sec", "start_timeout", 1000);
        duration("startup_timeout_ms", "start_timeout", 1);
        duration("tool_timeout_sec", "timeout", 1000);
        Value tools = Value::object();
        for (const auto& [from, to] :
             {std::pair("includeTools", "allow"), std::pair("enabled_tools", "allow"),
              std::pair("excludeTools", "deny"), std::pair("disabled_tools", "deny"),
              std::pair("disabledTools", "deny")}) {
            const Value* const list = take_list(from);
            if (list != nullptr && !list->as_array()->empty()) tools.set(to, literals(*list));
        }
        if (!tools.as_object()->empty()) to_.set("tools", std::move(tools));
        const Value* const disabled = take("disabled");
        const Value* const enabled = take("enabled");
        if ((disabled != nullptr && disabled->as_bool() != nullptr && *disabled->as_bool()) ||
            (enabled != nullptr && enabled->as_bool() != nullptr && !*enabled->as_bool()))
            to_.set("enabled", false);
    }
    void left_over() {
        static constexpr std::array<std::string_view, 5> kTrust = {
            "trust", "alwaysAllow", "autoApprove", "autoAllow", "default_tools_approval_mode"};
        static constexpr std::array<std::string_view, 5> kSilent = {"source", "settings", "dev",
                                                                    "description", "gallery"};
        for (const auto& [name, value] : *from_.as_object()) {
            if (known_.contains(name) || std::ranges::find(kSilent, name) != kSilent.end())
                continue;
            if (std::ranges::find(kTrust, name) != kTrust.end()) {
                note(fmt::format("{}: the policy decides here", name));
            } else if (name == "auth" || name == "oauth") {
                note(fmt::format("{}: sign in is set up here, under auth", name));
            } else {
                note(fmt::format("{} is not taken over", name));
            }
        }
    }

    const ClientKind kind_;
    const Value& from_;
    const Value& inputs_;
    const ImportContext& context_;
    Value to_ = Value::object(), args_, env_ = Value::object();
    std::vector<std::string> notes_, uses_;
    std::vector<std::string> read_;  ///< whose values the text at hand has
    std::set<std::string, std::less<>> known_;
};

/// A document, whose kind is told by its root if it is not known.
Result<std::pair<ClientKind, Value>> read_document(std::optional<ClientKind> kind,
                                                   std::string_view text) {
    const std::string plain = without_comments(text);
    auto document = Value::parse(plain, {.max_bytes = std::size_t{64} << 20});
    const std::size_t begin = plain.find_first_not_of(" \t\r\n");
    const bool is_json = begin != std::string::npos && plain[begin] == '{';
    if (kind == ClientKind::kCodex || (!kind && !document && !is_json)) {
        document = read_toml(text);
        kind = ClientKind::kCodex;
    }
    if (!document) return fail(std::move(document.error()));
    if (kind) return std::pair(*kind, std::move(*document));
    for (const ClientKind guess :
         {ClientKind::kClaudeCode, ClientKind::kVsCode, ClientKind::kZed, ClientKind::kOpencode}) {
        const Value* const servers = document->find(root_of(guess));
        if (servers != nullptr && servers->is_object())
            return std::pair(guess, std::move(*document));
    }
    return fail(
        ErrorCode::kInvalidArgs,
        "the file names no MCP servers in a form that is known; say whose it is with --from");
}

}  // namespace

std::optional<ClientKind> find_client(std::string_view name) {
    const auto found = std::ranges::find(kClients, name, &Client::name);
    return found != kClients.end() ? std::optional(found->kind) : std::nullopt;
}

std::vector<std::string> all_client_names() {
    std::vector<std::string> names;
    for (const Client& client : kClients) names.emplace_back(client.name);
    return names;
}

std::string client_names() { return fmt::format("{}", fmt::join(all_client_names(), ", ")); }

std::vector<fs::path> files_of(ClientKind client, const fs::path& here, const fs::path& home) {
    switch (client) {
        case ClientKind::kClaudeDesktop:
            return {home / ".config/Claude/claude_desktop_config.json",
                    home / "Library/Application Support/Claude/claude_desktop_config.json"};
        case ClientKind::kClaudeCode: return {here / ".mcp.json", home / ".claude.json"};
        case ClientKind::kCursor: return {here / ".cursor/mcp.json", home / ".cursor/mcp.json"};
        case ClientKind::kVsCode:
            return {here / ".vscode/mcp.json", home / ".config/Code/User/mcp.json",
                    home / "Library/Application Support/Code/User/mcp.json"};
        case ClientKind::kWindsurf: return {home / ".codeium/windsurf/mcp_config.json"};
        case ClientKind::kZed:
            return {here / ".zed/settings.json", home / ".config/zed/settings.json"};
        case ClientKind::kGemini:
            return {here / ".gemini/settings.json", home / ".gemini/settings.json"};
        case ClientKind::kCodex: return {here / ".codex/config.toml", home / ".codex/config.toml"};
        case ClientKind::kOpencode:
            return {here / "opencode.json", here / "opencode.jsonc",
                    home / ".config/opencode/opencode.json",
                    home / ".config/opencode/opencode.jsonc"};
    }
    return {};
}

Result<std::vector<ImportedServer>> read_client_file(std::optional<ClientKind> client,
                                                     std::string_view text,
                                                     const ImportContext& context) {
    auto read = read_document(client, text);
    if (!read) return fail(std::move(read.error()));
    const auto& [kind, document] = *read;
    const Value* servers = document.find(root_of(kind));
    // opencode has had them one level deeper since its version 2
    if (const Value* const inner = servers != nullptr ? servers->find("servers") : nullptr;
        kind == ClientKind::kOpencode && inner != nullptr && inner->find("type") == nullptr)
        servers = inner;
    if (servers == nullptr || servers->as_object() == nullptr || servers->as_object()->empty())
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("the file has no servers under {}", root_of(kind)));
    const Value* const inputs = document.find("inputs");
    const Value none;
    std::set<std::string, std::less<>> taken;
    std::vector<ImportedServer> all;
    for (const auto& [name, server] : *servers->as_object()) {
        if (!server.is_object()) continue;
        auto made = Conversion(kind, server, inputs != nullptr ? *inputs : none, context).convert();
        if (!made) made = ImportedServer{.notes = {made.error().message}};
        made->in_file = name;
        if (!made->server.is_null()) made->name = key_of(name, taken);
        all.push_back(std::move(*made));
    }
    return all;
}

std::string_view without_mark(std::string_view text) {
    constexpr std::string_view kMark = "\xef\xbb\xbf";
    return text.substr(text.starts_with(kMark) ? kMark.size() : 0);
}

std::string without_comments(std::string_view text) {
    text = without_mark(text);
    std::string out;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted) {
            out += c;
            if (c == '\\' && i + 1 < text.size()) out += text[++i];
            quoted = c != '"';
        } else if (c == '/' && text.substr(i, 2) == "//") {
            i = std::min(text.find('\n', i), text.size()) - 1;
        } else if (c == '/' && text.substr(i, 2) == "/*") {
            i = std::min(text.find("*/", i + 2), text.size() - 2) + 1;
        } else if (c == ']' || c == '}') {
            const std::size_t last = out.find_last_not_of(" \t\r\n");
            if (last != std::string::npos && out[last] == ',') out.erase(last, 1);
            out += c;
        } else {
            quoted = c == '"';
            out += c;
        }
    }
    return out;
}

}  // namespace crab::cli
