#include "cli/contexts.hpp"

#include "cli/output/files.hpp"
#include "cli/output/pretty_json.hpp"
#include "config/yaml_document.hpp"
#include "config/yaml_text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <type_traits>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostContexts = 1000;
constexpr std::size_t kMostToken = 64 * 1024;

std::unexpected<Error> bad_file(const fs::path& file, std::string_view why) {
    return fail(ErrorCode::kInvalidArgs, fmt::format("{}: {}", file.string(), why));
}

/// Whoever may write the file says to whom tokens are sent.
Result<void> check_owner(const fs::path& file) {
    struct stat status{};
    if (::stat(file.c_str(), &status) != 0) return {};
    if ((status.st_uid == ::getuid() || status.st_uid == 0) && (status.st_mode & 022) == 0)
        return {};
    return fail(ErrorCode::kForbidden,
                fmt::format("others may write {}, and so say where tokens are sent; run chmod 600 "
                            "on it",
                            file.string()));
}

Result<Context> read_context(const std::string& name, const json::Value& entry) {
    if (!is_context_name(name) || name == Contexts::kLocal || !entry.is_object())
        return fail(ErrorCode::kInvalidArgs, fmt::format("{} is no context", name));
    const json::Value* const plain = entry.find("allow_plain");
    for (const auto& [key, value] : *entry.as_object()) {
        if (key == "allow_plain" && value.as_bool() != nullptr) continue;
        constexpr std::string_view kKeys[]{"url", "socket", "token_file", "ca_file"};
        if (std::ranges::find(kKeys, key) == std::end(kKeys) || value.as_string() == nullptr)
            return fail(
                ErrorCode::kInvalidArgs,
                fmt::format("{}: {} is none of url, socket, token_file, ca_file with a text", name,
                            key));
    }
    Context context{.name = name,
                    .url = entry.text("url"),
                    .socket = entry.text("socket"),
                    .token_file = entry.text("token_file"),
                    .ca_file = entry.text("ca_file"),
                    .allow_plain = plain != nullptr && *plain->as_bool()};
    if (context.url.empty() == context.socket.empty())
        return fail(ErrorCode::kInvalidArgs, fmt::format("{} needs a url or a socket", name));
    return context;
}

Result<std::string> read_token(const Context& context) {
    auto text = read_input(context.token_file.string());
    if (!text) return fail(std::move(text.error()));
    while (text->ends_with('\n') || text->ends_with('\r') || text->ends_with(' ')) text->pop_back();
    if (text->empty() || text->size() > kMostToken || text->find('\n') != std::string::npos)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("{} does not hold one token", context.token_file.string()));
    return text;
}

std::unexpected<Error> only_by_socket(std::string_view who, const std::string& url) {
    return fail(
        ErrorCode::kInvalidArgs,
        fmt::format("{} names {}, and this command asks an admin socket, which no URL reaches: run "
                    "it on that machine, or forward its socket (ssh -L) and name that with "
                    "--socket; --context local is the gateway of this machine",
                    who, url));
}

/// Its place, with what vouches for either side where nothing else was said.
Result<void> use(Target& target, const Context& context, const config::Environment& environment) {
    const std::string who = fmt::format("the context {}", context.name);
    if (context.url.empty()) {
        target.socket = context.socket;
        return {};
    }
    if (!target.may_be_remote) return only_by_socket(who, context.url);
    target.url = context.url;
    if (context.allow_plain) target.allow_plain = true;
    // What the environment says is for any gateway, what the context says for this one.
    const auto is_of_environment = [&](std::string_view name, const std::string& value) {
        return value.empty() || environment(name) == value;
    };
    if (!context.ca_file.empty() && is_of_environment("CRAB_CA_FILE", target.ca_file))
        target.ca_file = context.ca_file;
    if (context.token_file.empty() || !is_of_environment("CRAB_TOKEN", target.token.reveal()))
        return {};
    auto token = read_token(context);
    if (!token) return fail(std::move(token.error()));
    target.token = Secret<std::string>(std::move(*token));
    return {};
}

}  // namespace

bool is_context_name(std::string_view name) {
    return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '_' || c == '-';
    });
}

fs::path Contexts::file(const config::Environment& environment) {
    const config::Paths paths = config::Paths::find(false, ::getuid(), environment);
    return paths.user_config.empty() ? fs::path()
                                     : paths.user_config.parent_path() / "contexts.yaml";
}

Result<Contexts> Contexts::load(const fs::path& file) {
    Contexts contexts;
    std::error_code ignored;
    if (file.empty() || !fs::exists(file, ignored)) return contexts;
    if (auto checked = check_owner(file); !checked) return fail(std::move(checked.error()));
    const auto text = read_input(file.string());
    if (!text) return fail(text.error());
    config::Problems problems;
    const config::YamlDocument document = config::read_yaml(*text, problems);
    if (!problems.empty()) return bad_file(file, "is no YAML that crab context has written");
    if (std::string current = document.value.text("current"); !current.empty())
        contexts.current = std::move(current);
    const json::Value* const entries = document.value.find("contexts");
    if (entries == nullptr || entries->is_null()) return contexts;
    if (!entries->is_object() || entries->as_object()->size() > kMostContexts)
        return bad_file(file, "contexts is no map of at most 1000 names");
    for (const auto& [name, entry] : *entries->as_object()) {
        auto context = read_context(name, entry);
        if (!context) return bad_file(file, context.error().message);
        contexts.all.push_back(std::move(*context));
    }
    return contexts;
}

Result<void> Contexts::save(const fs::path& file) const {
    if (file.empty())
        return fail(ErrorCode::kForbidden, "there is no home directory to keep contexts in");
    json::Value entries = json::Value::object();
    for (const Context& context : all) {
        json::Value& entry = entries.set(context.name, json::Value::object());
        for (const auto& [key, value] :
             {std::pair{"url", context.url}, std::pair{"socket", context.socket.string()},
              std::pair{"token_file", context.token_file.string()},
              std::pair{"ca_file", context.ca_file.string()}})
            if (!value.empty()) entry.set(key, value);
        if (context.allow_plain) entry.set("allow_plain", true);
    }
    std::error_code error;
    fs::create_directories(file.parent_path(), error);
    const fs::path draft = file.string() + fmt::format(".{}", ::getpid());
    auto out = create_private_file(draft);
    if (!out) return fail(std::move(out.error()));
    const bool written = out->write_and_sync(config::to_yaml(
        json::Value::object({{"current", current}, {"contexts", std::move(entries)}})));
    if (written && ::rename(draft.c_str(), file.c_str()) == 0) return {};
    const int reason = errno;
    ::unlink(draft.c_str());
    return fail(ErrorCode::kForbidden,
                fmt::format("cannot write {}: {}", file.string(), std::strerror(reason)));
}

const Context* Contexts::find(std::string_view name) const {
    const auto found = std::ranges::find(all, name, &Context::name);
    return found == all.end() ? nullptr : &*found;
}

Result<void> settle(Target& target, const config::Environment& environment) {
    const auto set = [&](std::string_view name) { return environment(name).value_or(""); };
    std::string name = target.context;
    if (name.empty()) {
        if (!target.url.empty() || !target.socket.empty() || !target.config.empty()) return {};
        const std::string url = set("CRAB_URL"), socket = set("CRAB_SOCKET");
        if (!url.empty() && (target.may_be_remote || socket.empty())) {
            if (!target.may_be_remote) return only_by_socket("CRAB_URL", url);
            target.url = url;
            return {};
        }
        if (!socket.empty()) return {};
        name = set("CRAB_CONTEXT");
    } else if (!target.url.empty() || !target.socket.empty()) {
        return fail(ErrorCode::kInvalidArgs,
                    "--context names a gateway, and so do --socket and --url: give one of them");
    }
    if (name == Contexts::kLocal) return {};
    const fs::path file = Contexts::file(environment);
    const auto contexts = Contexts::load(file);
    if (!contexts) return fail(contexts.error());
    if (name.empty()) name = contexts->current;
    if (name == Contexts::kLocal) return {};
    const Context* const context = contexts->find(name);
    if (context == nullptr)
        return fail(ErrorCode::kNotFound,
                    fmt::format("there is no context {}; crab context list shows them", name));
    return use(target, *context, environment);
}

Result<void> settle(Command& command) {
    Target* const target = command.asked();
    return target == nullptr ? Result<void>() : settle(*target);
}

}  // namespace crab::cli
