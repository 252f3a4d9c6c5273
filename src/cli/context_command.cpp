#include "cli/commands.hpp"
#include "cli/contexts.hpp"
#include "cli/gateway_endpoint.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/report.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::cli {
namespace {

json::Value row_of_context(const Contexts& contexts, const Context& context) {
    json::Value row = json::Value::object(
        {{"name", context.name}, {"current", contexts.current == context.name}});
    for (const auto& [key, value] :
         {std::pair{"url", context.url}, std::pair{"socket", context.socket.string()},
          std::pair{"token_file", context.token_file.string()},
          std::pair{"ca_file", context.ca_file.string()}})
        if (!value.empty()) row.set(key, value);
    if (context.allow_plain) row.set("allow_plain", true);
    return row;
}

int refuse(ErrorCode code, std::string message) {
    return report(Error{.code = code, .message = std::move(message)});
}

/// Paths that still lead there from another folder.
std::filesystem::path anywhere(const std::filesystem::path& path) {
    return path.empty() ? path : std::filesystem::absolute(path).lexically_normal();
}

}  // namespace

int run(const ContextList& options) {
    const auto contexts = Contexts::load(Contexts::file());
    if (!contexts) return report(contexts.error());
    json::Value rows = json::Value::array();
    rows.push_back(row_of_context(*contexts, {.name = std::string(Contexts::kLocal)}));
    for (const Context& context : contexts->all) rows.push_back(row_of_context(*contexts, context));
    static const Listing kContexts{
        .members = {"contexts"},
        .name = by_member("name"),
        .columns = {{"", [](const json::Value& row) { return flag_of(row, "current") ? "*" : ""; }},
                    column("CONTEXT", "name"),
                    {"GATEWAY",
                     [](const json::Value& row) {
                         const std::string url = text_of(row, "url"),
                                           socket = text_of(row, "socket");
                         return !url.empty()      ? url
                                : !socket.empty() ? socket
                                                  : std::string("this machine's");
                     }},
                    column("TOKEN FILE", "token_file"),
                    wide_column("CA FILE", "ca_file")}};
    return show_list(json::Value::object({{"contexts", std::move(rows)}}), kContexts,
                     options.output);
}

int run(const ContextUse& options) {
    auto contexts = Contexts::load(Contexts::file());
    if (!contexts) return report(contexts.error());
    if (options.name != Contexts::kLocal && contexts->find(options.name) == nullptr)
        return refuse(
            ErrorCode::kNotFound,
            fmt::format("there is no context {}; crab context list shows them", options.name));
    contexts->current = options.name;
    if (const auto saved = contexts->save(Contexts::file()); !saved) return report(saved.error());
    print_line(fmt::format("{} is in use", options.name));
    return kExitOk;
}

int run(const ContextSet& options) {
    if (!is_context_name(options.name) || options.name == Contexts::kLocal)
        return refuse(ErrorCode::kInvalidArgs,
                      "a name has 1-64 letters, digits, `.`, `_` and `-`; local is this machine's "
                      "gateway");
    if (options.url.empty() == options.socket.empty())
        return refuse(ErrorCode::kInvalidArgs, "give --url, or --socket");
    if (!options.url.empty() && !options.url.starts_with("http://") &&
        !options.url.starts_with("https://"))
        return refuse(ErrorCode::kInvalidArgs, "--url has to start with http:// or https://");
    if (options.url.find('@') != std::string::npos)
        return refuse(ErrorCode::kInvalidArgs,
                      "--url must not hold a password: name a file with --token-file");
    if (!options.url.empty()) {
        if (const auto place =
                find_gateway({.url = options.url, .allow_plain = options.allow_plain});
            !place)
            return report(place.error());
    }
    auto contexts = Contexts::load(Contexts::file());
    if (!contexts) return report(contexts.error());
    std::erase_if(contexts->all, [&](const Context& each) { return each.name == options.name; });
    contexts->all.push_back({.name = options.name,
                             .url = options.url,
                             .socket = anywhere(options.socket),
                             .token_file = anywhere(options.token_file),
                             .ca_file = anywhere(options.ca_file),
                             .allow_plain = options.allow_plain});
    std::ranges::sort(contexts->all, {}, &Context::name);
    if (const auto saved = contexts->save(Contexts::file()); !saved) return report(saved.error());
    print_line(printable(fmt::format(
        "{} is {}; use it with --context {}, or for all with crab "
        "context use {}",
        options.name, contexts->find(options.name)->place(), options.name, options.name)));
    return kExitOk;
}

int run(const ContextRemove& options) {
    auto contexts = Contexts::load(Contexts::file());
    if (!contexts) return report(contexts.error());
    if (std::erase_if(contexts->all,
                      [&](const Context& each) { return each.name == options.name; }) == 0)
        return refuse(
            ErrorCode::kNotFound,
            fmt::format("there is no context {}; crab context list shows them", options.name));
    const bool was_in_use = contexts->current == options.name;
    if (was_in_use) contexts->current = Contexts::kLocal;
    if (const auto saved = contexts->save(Contexts::file()); !saved) return report(saved.error());
    print_line(
        fmt::format("{} is removed{}", options.name, was_in_use ? "; local is in use now" : ""));
    return kExitOk;
}

}  // namespace crab::cli
