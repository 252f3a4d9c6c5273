#include "gateway/listeners/api_document.hpp"

#include "adapters/rtp/calls/route_errors.hpp"
#include "gateway/listeners/api_schemas.hpp"
#include "json/value.hpp"
#include "net/codec/http_text.hpp"
#include "net/codec/http_write.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

using json::Value;

constexpr std::string_view kSchemaFile = ".schema.json";

Value text(std::string_view words) { return Value(words); }

std::string_view word_of(net::Caller who) {
    switch (who) {
        case net::Caller::kAnyone: return "anyone";
        case net::Caller::kGuest: return "guest";
        case net::Caller::kProven: return "proven";
        case net::Caller::kScraper: return "metrics";
        case net::Caller::kSession: return "session";
    }
    return "proven";
}

/// When a session of the console has to prove a key first; the admin socket is what it asks.
std::string_view word_of(net::FreshProof proof) {
    switch (proof) {
        case net::FreshProof::kForChanges: return "always";
        case net::FreshProof::kNever: return "never";
        case net::FreshProof::kForOperators: return "operators";
        case net::FreshProof::kForLasting: return "lasting";
    }
    return "always";
}

/// One listener's document while it is made.
class Document {
public:
    Document(const net::RouteTable& routes, const ApiDescription& about)
        : routes_(routes), about_(about) {}
    std::string make();

private:
    using Answers = std::map<int, std::vector<net::RouteAnswer>>;

    Value operation(const net::Route& route);
    Value parameters(const net::Route& route) const;
    Value request_body(const net::Route& route);
    Value responses(const net::Route& route);
    Answers answers_of(const net::Route& route) const;
    std::vector<int> refusals_of(const net::Route& route) const;
    bool needs_proof(const net::Route& route) const;
    bool takes_body(const net::Route& route) const;
    std::size_t body_bytes(const net::Route& route) const;
    Value content(const std::vector<net::RouteAnswer>& answers);
    Value reference(std::string_view schema);
    void inline_schemas();
    void point_to_components(Value& schema);

    const net::RouteTable& routes_;
    const ApiDescription& about_;
    std::set<std::string, std::less<>> used_;  ///< names of schemas
    Value schemas_ = Value::object();
};

/// `/device/{file...}` as OpenAPI has it: `/device/{file}`.
std::string plain_path(std::string_view path) {
    std::string plain(path);
    if (const std::size_t dots = plain.find("...}"); dots != std::string::npos)
        plain.erase(dots, 3);
    return plain;
}

/// `post_v1_tools_call`, unique since method and path are.
std::string operation_id(const net::Route& route) {
    std::string id;
    for (const char c : name_of(route.method)) id += static_cast<char>(c - 'A' + 'a');
    bool gap = true;
    for (const char c : route.path) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (plain && gap) id += '_';
        if (plain) id += c;
        gap = !plain;
    }
    return id;
}

/// The first segment that is about a thing: `tools` of `/v1/tools/call`.
std::string_view tag_of(std::string_view path) {
    while (!path.empty()) {
        path.remove_prefix(1);
        const std::string_view segment = path.substr(0, path.find('/'));
        if (segment != "v1" && segment != "admin" && segment != "api" && segment != "ws")
            return segment.empty() ? "gateway" : segment;
        path.remove_prefix(std::min(path.find('/'), path.size()));
    }
    return "gateway";
}

Value parameter(std::string_view name, std::string_view place, std::string_view meaning) {
    Value made = Value::object({{"name", text(name)}, {"in", text(place)}});
    if (!meaning.empty()) made.set("description", text(meaning));
    made.set("required", place == "path");
    made.set("schema", Value::object({{"type", "string"}}));
    return made;
}

/// Both at once: scripts of other pages have the cookie sent, and cannot know the key.
Value session_demand() {
    return Value::array(
        {Value::object({{"session", Value::array()}, {"session_key", Value::array()}})});
}

Value session_half(std::string_view place, std::string_view name, std::string_view meaning) {
    return Value::object({{"type", "apiKey"},
                          {"in", text(place)},
                          {"name", text(name)},
                          {"description", text(meaning)}});
}

bool Document::needs_proof(const net::Route& route) const {
    if (about_.proof != CallerProof::kBearer) return true;
    return route.who == net::Caller::kProven || route.who == net::Caller::kScraper;
}

bool Document::takes_body(const net::Route& route) const {
    return !route.request.empty() || !route.request_type.empty();
}

std::size_t Document::body_bytes(const net::Route& route) const {
    if (about_.proof == CallerProof::kBearer && route.who == net::Caller::kGuest)
        return about_.guest_bytes;
    return route.limits({.max_bytes = about_.body_bytes}).max_bytes;
}

Value Document::reference(std::string_view schema) {
    if (find_api_schema(schema).empty())
        throw std::logic_error(fmt::format("spec/http has no {}{}", schema, kSchemaFile));
    used_.emplace(schema);
    return Value::object({{"$ref", fmt::format("#/components/schemas/{}", schema)}});
}

Value Document::parameters(const net::Route& route) const {
    Value all = Value::array();
    std::string_view rest = route.path;
    for (std::size_t at; (at = rest.find('{')) != std::string_view::npos;) {
        rest.remove_prefix(at + 1);
        std::string_view name = rest.substr(0, rest.find('}'));
        const bool any_rest = name.ends_with("...");
        if (any_rest) name.remove_suffix(3);
        all.push_back(parameter(name, "path", any_rest ? "may hold slashes, or be empty" : ""));
    }
    for (const auto& [name, meaning] : route.query)
        all.push_back(parameter(name, "query", meaning));
    for (const auto& [name, meaning] : route.headers)
        all.push_back(parameter(name, "header", meaning));
    return all;
}

Value Document::request_body(const net::Route& route) {
    const std::string_view type = route.request_type.empty() ? net::kJsonType : route.request_type;
    Value media = Value::object();
    if (!route.request.empty()) media.set("schema", reference(route.request));
    Value content = Value::object();
    content.set(type, std::move(media));
    return Value::object({{"content", std::move(content)}, {"x-max-bytes", body_bytes(route)}});
}

/// Its own refusals, and those that follow from its declaration.
std::vector<int> Document::refusals_of(const net::Route& route) const {
    std::set<int> all(route.refusals.begin(), route.refusals.end());
    switch (about_.proof) {
        case CallerProof::kBearer:
            if (route.who == net::Caller::kProven) all.insert({401, 403});
            if (route.who == net::Caller::kGuest) all.insert(403);
            if (route.who == net::Caller::kScraper) all.insert(404);
            // 404 while the console is not open to other machines
            if (route.who == net::Caller::kSession) all.insert({401, 403, 404});
            break;
        case CallerProof::kLocalUser: all.insert(403); break;
        case CallerProof::kCertificate: all.insert({401, 403}); break;
    }
    if (takes_body(route)) all.insert({408, 413});
    if (route.not_while_stopping) all.insert(503);
    if (route.websocket) all.insert(426);
    return {all.begin(), all.end()};
}

Document::Answers Document::answers_of(const net::Route& route) const {
    Answers answers;
    for (const net::RouteAnswer& each : route.answers) answers[each.status].push_back(each);
    if (route.websocket) answers[101].push_back({.status = 101, .schema = {}, .content_type = {}});
    const std::string_view form =
        route.errors == rtp::append_call_error ? "call_response" : "error";
    for (const int status : refusals_of(route)) {
        if (!answers.contains(status))
            answers[status].push_back({.status = status, .schema = form});
    }
    return answers;
}

Value Document::content(const std::vector<net::RouteAnswer>& answers) {
    Value types = Value::object();
    for (const net::RouteAnswer& answer : answers) {
        Value media = Value::object();
        if (!answer.schema.empty()) media.set("schema", reference(answer.schema));
        types.set(answer.content_type, std::move(media));
    }
    return types;
}

Value Document::responses(const net::Route& route) {
    Value all = Value::object();
    for (const auto& [status, answers] : answers_of(route)) {
        Value response = Value::object({{"description", text(net::reason_phrase(status))}});
        if (!answers.front().content_type.empty()) response.set("content", content(answers));
        all.set(std::to_string(status), std::move(response));
    }
    return all;
}

Value Document::operation(const net::Route& route) {
    Value made = Value::object({{"operationId", operation_id(route)},
                                {"tags", Value::array({text(tag_of(route.path))})},
                                {"summary", text(route.summary)},
                                {"x-who", text(word_of(route.who))}});
    if (about_.proof == CallerProof::kLocalUser && route.method != net::Method::kGet)
        made.set("x-fresh-proof", text(word_of(route.proof)));
    if (route.head) made.set("x-head", true);
    if (route.websocket) made.set("x-websocket", true);
    if (!route.action.empty() && about_.proof == CallerProof::kCertificate)
        made.set("x-action", text(route.action));
    if (Value list = parameters(route); !list.as_array()->empty())
        made.set("parameters", std::move(list));
    if (takes_body(route)) made.set("requestBody", request_body(route));
    made.set("responses", responses(route));
    if (route.who == net::Caller::kSession)
        made.set("security", session_demand());
    else if (!needs_proof(route))
        made.set("security", Value::array());
    return made;
}

/// `"$ref": "error.schema.json"` leads to a component; what only a file needs goes.
void Document::point_to_components(Value& schema) {
    if (Value::Items* const items = schema.as_array()) {
        for (Value& item : *items) point_to_components(item);
        return;
    }
    Value::Members* const members = schema.as_object();
    if (members == nullptr) return;
    schema.erase("$schema");
    schema.erase("$id");
    for (auto& [name, value] : *members) {
        const std::string* const target = name == "$ref" ? value.as_string() : nullptr;
        if (target != nullptr && target->ends_with(kSchemaFile)) {
            value = *reference(target->substr(0, target->size() - kSchemaFile.size())).find("$ref");
        } else {
            point_to_components(value);
        }
    }
}

/// All that are used, and what these refer to.
void Document::inline_schemas() {
    std::map<std::string, Value> inlined;
    while (inlined.size() < used_.size()) {
        const std::set<std::string, std::less<>> wanted = used_;
        for (const std::string& name : wanted) {
            if (inlined.contains(name)) continue;
            auto schema = Value::parse(find_api_schema(name));
            if (!schema) throw std::logic_error(name + ": " + schema.error().message);
            point_to_components(*schema);
            inlined.emplace(name, std::move(*schema));
        }
    }
    for (auto& [name, schema] : inlined) schemas_.set(name, std::move(schema));
}

std::string Document::make() {
    Value paths = Value::object();
    for (const net::Route& route : routes_.routes()) {
        std::string method;
        for (const char c : name_of(route.method)) method += static_cast<char>(c - 'A' + 'a');
        const std::string path = plain_path(route.path);
        if (paths.find(path) == nullptr) paths.set(path, Value::object());
        paths.find(path)->set(method, operation(route));
    }
    inline_schemas();
    Value components = Value::object({{"schemas", std::move(schemas_)}});
    Value schemes = Value::object();
    const auto secure_by = [&schemes](std::string_view name, Value scheme) {
        schemes.set(name, std::move(scheme));
        Value demand = Value::object();
        demand.set(name, Value::array());
        return Value::array({std::move(demand)});
    };
    Value document = Value::object(
        {{"openapi", "3.1.0"},
         {"info", Value::object({{"title", text(about_.title)},
                                 {"version", "v1"},
                                 {"description", text(about_.text)}})},
         {"servers", Value::array({Value::object(
                         {{"url", routes_.prefix().empty() ? "/" : routes_.prefix()}})})}});
    switch (about_.proof) {
        case CallerProof::kBearer:
            document.set(
                "security",
                secure_by("bearer", Value::object({{"type", "http"}, {"scheme", "bearer"}})));
            break;
        case CallerProof::kLocalUser: document.set("security", Value::array()); break;
        case CallerProof::kCertificate:
            document.set("security",
                         secure_by("certificate", Value::object({{"type", "mutualTLS"}})));
            break;
    }
    if (std::ranges::find(routes_.routes(), net::Caller::kSession, &net::Route::who) !=
        routes_.routes().end()) {
        schemes.set("session", session_half("cookie", "crab-console-<port>",
                                            "of a session of the console; behind TLS "
                                            "`__Secure-` comes before it"));
        schemes.set("session_key", session_half("header", "Crab-Console-Key",
                                                "the session's other half, which its page has"));
    }
    if (!schemes.as_object()->empty()) components.set("securitySchemes", std::move(schemes));
    document.set("paths", std::move(paths));
    document.set("components", std::move(components));
    return document.dump();
}

}  // namespace

std::string api_document(const net::RouteTable& routes, const ApiDescription& about) {
    return Document(routes, about).make();
}

}  // namespace crab::gateway
