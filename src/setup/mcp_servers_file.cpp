#include "setup/mcp_servers_file.hpp"

#include "base/process/file.hpp"
#include "config/load.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <system_error>

#include <unistd.h>

#include <fmt/format.h>

namespace crab::setup {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSecretsFolder = "mcp_secrets";
constexpr std::string_view kImportOrigin = "crab mcp import";

/// A file's name of a key that may hold anything.
std::string file_name(std::string_view kind, std::string_view key) {
    std::string name(key);
    std::ranges::replace_if(
        name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '_' && c != '-'; }, '_');
    // Two keys that become one name stay two files.
    if (name != key) name += fmt::format(".{:x}", std::hash<std::string_view>{}(key));
    return fmt::format("{}.{}", kind, name);
}

/// What has to leave `server`: the values, with the kind that names their files.
struct SecretValue {
    std::string_view kind;
    std::string key;
    json::Value* value;
};

/// `$${` is no reference but text.
bool has_reference(std::string_view text) {
    for (std::size_t at = text.find("${"); at != std::string_view::npos;
         at = text.find("${", at + 2)) {
        if (at == 0 || text[at - 1] != '$') return true;
    }
    return false;
}

bool has_references(const json::Value& value) {
    if (const std::string* const text = value.as_string()) return has_reference(*text);
    if (const auto* const items = value.as_array())
        return std::ranges::any_of(*items, has_references);
    if (const auto* const members = value.as_object())
        return std::ranges::any_of(
            *members, [](const auto& member) { return has_references(member.second); });
    return false;
}

/// A text without references, as it is meant.
std::string literal(std::string text) {
    for (std::size_t at = text.find("$${"); at != std::string::npos; at = text.find("$${", at + 2))
        text.erase(at, 1);
    return text;
}

void collect(json::Value* table, std::string_view kind, bool all, std::vector<SecretValue>& out) {
    if (table == nullptr || table->as_object() == nullptr) return;
    for (auto& [key, value] : *table->as_object()) {
        const std::string* text = value.as_string();
        if (text == nullptr || text->empty() || has_reference(*text)) continue;
        if (all || names_a_secret(key)) out.push_back({kind, key, &value});
    }
}

/// `--api-key X` and `--api-key=X`.
void collect_args(json::Value* args, std::vector<SecretValue>& out) {
    auto* const all = args != nullptr ? args->as_array() : nullptr;
    if (all == nullptr) return;
    for (std::size_t i = 0; i < all->size(); ++i) {
        const std::string* const text = (*all)[i].as_string();
        if (text == nullptr || text->empty() || has_reference(*text)) continue;
        const std::string* const before = i > 0 ? (*all)[i - 1].as_string() : nullptr;
        const bool named = before != nullptr && before->starts_with("-") &&
                           before->find('=') == std::string::npos && !text->starts_with("-") &&
                           names_a_secret(*before);
        const std::size_t equals = text->find('=');
        const bool names = text->starts_with("-") && equals != std::string::npos &&
                           names_a_secret(text->substr(0, equals));
        if (named || names) out.push_back({"arg", std::to_string(i), &(*all)[i]});
    }
}

std::vector<SecretValue> secrets_in(json::Value& server, bool imported) {
    std::vector<SecretValue> out;
    collect(server.find("env"), "env", imported, out);
    collect_args(server.find("args"), out);
    json::Value* const auth = server.find("auth");
    if (auth == nullptr) return out;
    collect(auth->find("headers"), "header", true, out);
    for (const auto& [section, kind] :
         {std::pair("client_credentials", "client"), std::pair("client", "login")}) {
        json::Value* const client = auth->find(section);
        json::Value* const secret = client != nullptr ? client->find("client_secret") : nullptr;
        if (secret != nullptr && secret->as_string() != nullptr &&
            !has_reference(*secret->as_string()))
            out.push_back({kind, "secret", secret});
    }
    return out;
}

Result<void> make_private(const fs::path& folder) {
    return config::ensure_private_directory(folder, ::getuid());
}

}  // namespace

bool names_a_secret(std::string_view variable) {
    std::string upper(variable);
    std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
    static constexpr std::array<std::string_view, 9> kWords = {
        "TOKEN", "KEY", "SECRET", "PASS", "PWD", "AUTH", "CREDENTIAL", "COOKIE", "DSN"};
    return std::ranges::any_of(
        kWords, [&](std::string_view word) { return upper.find(word) != std::string::npos; });
}

Result<McpServersFile> McpServersFile::open(const fs::path& state_dir,
                                            config::Environment environment) {
    McpServersFile made(state_dir, std::move(environment));
    const auto text = read_file(made.file());
    if (!text && text.error().code == ErrorCode::kNotFound) return made;
    if (!text) return fail(ErrorCode::kUnavailable, text.error().message);
    const auto document = json::Value::parse(*text);
    const json::Value* const servers = document ? document->find("servers") : nullptr;
    if (servers == nullptr || servers->as_object() == nullptr)
        return fail(
            ErrorCode::kInternal,
            fmt::format("{} is not a list of MCP servers; fix or remove it", made.file().string()));
    for (const auto& [name, entry] : *servers->as_object()) {
        const json::Value* const given = entry.find("server");
        const json::Value* const origin = entry.find("origin");
        AddedMcpServer server{.given = given ? *given : json::Value::object(),
                              .origin = origin && origin->as_string() ? *origin->as_string() : "",
                              .read = {}};
        server.read = made.read(name, server.given);
        made.servers_.emplace(name, std::move(server));
    }
    return made;
}

/// By the same reader, rules and references as the configuration, one server at a time: one that
/// has become unreadable does not take others with it.
Result<config::McpServerOptions> McpServersFile::read(std::string_view name,
                                                      const json::Value& server) const {
    json::Value servers = json::Value::object(), mcp = json::Value::object(),
                document = json::Value::object();
    servers.set(name, server);
    mcp.set("servers", std::move(servers));
    document.set("mcp", std::move(mcp));
    auto loaded = config::load_text(document.dump(), file(), environment_);
    if (!loaded) return fail(std::move(loaded.error()));
    const auto found = loaded->mcp.servers.find(name);
    if (found == loaded->mcp.servers.end())
        return fail(ErrorCode::kInvalidArgs, "a server is an object with command or url");
    return found->second;
}

Result<void> McpServersFile::move_secrets(std::string_view name, json::Value& server,
                                          Secrets& kept) const {
    const std::vector<SecretValue> secrets = secrets_in(server, kept.imported);
    if (secrets.empty()) return {};
    for (const fs::path& folder : {state_dir_ / kSecretsFolder, secrets_of(name)}) {
        if (auto made = make_private(folder); !made) return made;
    }
    for (const SecretValue& secret : secrets) {
        const std::string file = file_name(secret.kind, secret.key);
        if (auto stored =
                replace_file(secrets_of(name) / file, literal(*secret.value->as_string()));
            !stored)
            return stored;
        kept.files.insert(file);
        *secret.value = json::Value(fmt::format("${{file:{}/{}/{}}}", kSecretsFolder, name, file));
    }
    return {};
}

Result<void> McpServersFile::put(std::string_view name, json::Value server, std::string_view origin,
                                 const Usable& usable) {
    Secrets secrets{.imported = origin.starts_with(kImportOrigin), .files = {}};
    // A file from elsewhere must not name the gateway's own files and variables.
    if (secrets.imported && has_references(server))
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("{} refers to files or variables of the gateway, which an import "
                                "may not; add it with crab mcp add",
                                name));
    // Before anything is written: with its secrets still in it.
    auto checked = read(name, server);
    if (!checked) return fail(std::move(checked.error()));
    if (usable) {
        if (auto good = usable(*checked); !good) return good;
    }
    if (auto moved = move_secrets(name, server, secrets); !moved) return moved;
    auto options = read(name, server);
    if (!options) return fail(std::move(options.error()));
    AddedMcpServer added{
        .given = std::move(server), .origin = std::string(origin), .read = std::move(options)};
    auto before = servers_.extract(std::string(name));
    servers_.emplace(name, std::move(added));
    auto stored = store();
    if (stored) {
        drop_old_secrets(name, secrets.files);
        return stored;
    }
    servers_.erase(std::string(name));
    if (!before.empty()) servers_.insert(std::move(before));
    return stored;
}

/// Those of the server that had the name before. One that `server` itself refers to stays.
void McpServersFile::drop_old_secrets(std::string_view name,
                                      const std::set<std::string>& kept) const {
    const std::string text = servers_.find(name)->second.given.dump();
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(secrets_of(name), ignored)) {
        const std::string file = entry.path().filename().string();
        const bool named =
            text.find(fmt::format("{}/{}/{}", kSecretsFolder, name, file)) != std::string::npos;
        if (!kept.contains(file) && !named) fs::remove(entry.path(), ignored);
    }
}

Result<void> McpServersFile::remove(std::string_view name) {
    auto before = servers_.extract(std::string(name));
    if (before.empty())
        return fail(ErrorCode::kNotFound,
                    fmt::format("no MCP server {} was added; crab mcp list shows them", name));
    if (auto stored = store(); !stored) {
        servers_.insert(std::move(before));
        return stored;
    }
    std::error_code ignored;  // a secret that stays is private, and is overwritten by the next
    fs::remove_all(secrets_of(name), ignored);
    return {};
}

Result<void> McpServersFile::store() const {
    json::Value servers = json::Value::object();
    for (const auto& [name, server] : servers_) {
        json::Value entry = json::Value::object();
        entry.set("server", server.given);
        entry.set("origin", server.origin);
        servers.set(name, std::move(entry));
    }
    return replace_file(file(),
                        json::Value::object({{"servers", std::move(servers)}}).dump() + "\n");
}

}  // namespace crab::setup
