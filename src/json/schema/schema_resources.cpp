#include "json/schema/schema_resources.hpp"

#include "base/percent.hpp"
#include "json/pointer.hpp"
#include "json/schema/metaschemas.hpp"
#include "json/schema/schema_keywords.hpp"
#include "json/schema/uri.hpp"

#include <fmt/format.h>

namespace crab::json {
namespace {

std::unexpected<Error> bad_schema(std::string_view location, std::string_view reason) {
    return fail(ErrorCode::kInvalidArgs,
                fmt::format("schema {}: {}", location.empty() ? "(root)" : location, reason));
}

std::string_view text_member(const Value& schema, std::string_view key) {
    const std::string* text = schema.find_string(key);
    return text ? std::string_view(*text) : std::string_view();
}

std::string shown(std::string_view uri) { return std::string(uri.substr(0, 200)); }

}  // namespace

Result<void> SchemaResources::spend(std::size_t bytes) {
    spent_ += bytes;
    if (spent_ <= options_.max_program_bytes) return {};
    return fail(ErrorCode::kOversize,
                fmt::format("the schema takes more than {} KiB once it is compiled; use fewer "
                            "subschemas and patterns, and shorter names",
                            options_.max_program_bytes >> 10));
}

Result<SchemaPlace> SchemaResources::add_root(std::string_view text) {
    return add_document("", text, "", options_.dialect);
}

Result<SchemaPlace> SchemaResources::add_document(std::string_view uri, std::string_view text,
                                                  std::string location, Dialect fallback) {
    auto parsed =
        Value::parse(text, {.max_bytes = options_.max_bytes, .max_depth = options_.max_depth});
    if (!parsed) {
        parsed.error().message = fmt::format(
            "schema {}: {}", location.empty() ? "(root)" : location, parsed.error().message);
        return fail(std::move(parsed.error()));
    }
    const Value& root = *documents_.emplace_back(std::make_unique<Value>(std::move(*parsed)));
    auto meaning = meaning_of(root, fallback);
    if (!meaning) return fail(std::move(meaning.error()));
    auto resource = add_resource(std::string(uri), root, location, *meaning);
    if (!resource) return fail(std::move(resource.error()));
    if (auto done = index(root, *resource, std::move(location), true); !done)
        return fail(std::move(done.error()));
    return places_.at(&root);
}

Result<SchemaResources::Meaning> SchemaResources::meaning_of(const Value& schema, Dialect fallback,
                                                             int depth) {
    const Meaning standard{fallback, {.format_assertion = options_.assert_formats}};
    const Value* name = schema.find("$schema");
    if (!name) return standard;
    if (!name->as_string()) return bad_schema("/$schema", "must be a string");
    const std::string& uri = *name->as_string();
    if (const auto dialect = find_dialect(uri)) return Meaning{*dialect, standard.vocabularies};
    // A metaschema of one's own: it says which vocabularies count, and its own `$schema` in which
    // dialect.
    constexpr int kMaxDepth = 8;
    const auto text = document_text(without_fragment(uri));
    if (!text || depth > kMaxDepth)
        return bad_schema("/$schema", fmt::format("unknown dialect \"{}\"", shown(uri)));
    auto metaschema =
        Value::parse(*text, {.max_bytes = options_.max_bytes, .max_depth = options_.max_depth});
    if (!metaschema) return fail(std::move(metaschema.error()));
    auto meaning = meaning_of(*metaschema, fallback, depth + 1);
    const Value* vocabularies = metaschema->find("$vocabulary");
    if (!meaning || !vocabularies || !vocabularies->as_object()) return meaning;
    meaning->vocabularies = Vocabularies::none();
    for (const auto& [vocabulary, required] : *vocabularies->as_object()) {
        const bool must = required.as_bool() && *required.as_bool();
        if (!meaning->vocabularies.add(vocabulary, must) && must) {
            return bad_schema("/$schema",
                              fmt::format("the dialect requires the unknown vocabulary \"{}\"",
                                          shown(vocabulary)));
        }
    }
    meaning->vocabularies.format_assertion =
        meaning->vocabularies.format_assertion || options_.assert_formats;
    return meaning;
}

Result<ResourceId> SchemaResources::add_resource(std::string uri, const Value& root,
                                                 const std::string& location, Meaning meaning) {
    const auto id = static_cast<ResourceId>(resources_.size());
    if (auto room = spend(sizeof(SchemaResource) + 2 * uri.size() + location.size()); !room)
        return fail(std::move(room.error()));
    auto resource = std::make_unique<SchemaResource>();
    resource->uri = uri;
    resource->root = &root;
    resource->location = location;
    resource->dialect = meaning.dialect;
    resource->vocabularies = meaning.vocabularies;
    resources_.push_back(std::move(resource));
    const auto [known, is_new] = by_uri_.emplace(std::move(uri), id);
    if (!is_new && resources_[known->second]->root != &root &&
        !(*resources_[known->second]->root == root)) {
        return bad_schema(
            location, fmt::format("two schemas have the identifier \"{}\"", shown(known->first)));
    }
    return id;
}

// Notes where `schema` stands and which names it has, then goes on to the schemas inside it.
Result<void> SchemaResources::index(const Value& schema, ResourceId inside, std::string location,
                                    bool is_root) {
    constexpr std::size_t kPlaceBytes = 128;
    if (auto room = spend(kPlaceBytes + 2 * location.size()); !room) return room;
    const Dialect dialect = resources_[inside]->dialect;
    if (schema.as_bool() && dialect == Dialect::kDraft4)
        return bad_schema(location, "draft 4 has no boolean schemas");
    if (!schema.as_bool() && !schema.as_object())
        return bad_schema(location, "a schema must be an object or a boolean");
    // whose siblings mean nothing
    const bool is_only_ref = dialect <= Dialect::kDraft7 && schema.find("$ref");
    const std::string_view id_key = dialect == Dialect::kDraft4 ? "id" : "$id";
    const Value* id = is_only_ref ? nullptr : schema.find(id_key);
    if (id && !id->as_string())
        return bad_schema(location, fmt::format("\"{}\" must be a string", id_key));
    if (id) {
        const std::string_view text = *id->as_string();
        const std::string_view fragment = fragment_of(text);
        if (!fragment.empty() && dialect >= Dialect::k2019_09)
            return bad_schema(location, "\"$id\" must have no fragment");
        if (const std::string_view reference = without_fragment(text); !reference.empty()) {
            const std::string base = resolve_uri(resources_[inside]->uri, reference);
            Meaning meaning{dialect, resources_[inside]->vocabularies};
            if (is_root) {
                resources_[inside]->uri = base;  // the retrieval URI stays in by_uri_ beside it
                by_uri_.emplace(base, inside);
            } else {
                if (schema.find("$schema")) {
                    auto own = meaning_of(schema, dialect);
                    if (!own) return fail(std::move(own.error()));
                    meaning = *own;
                }
                auto resource = add_resource(base, schema, location, meaning);
                if (!resource) return fail(std::move(resource.error()));
                inside = *resource;
            }
        }
        if (!fragment.empty()) resources_[inside]->anchors.emplace(fragment, &schema);
    }
    SchemaResource& resource = *resources_[inside];
    if (resource.dialect >= Dialect::k2019_09) {
        if (const auto anchor = text_member(schema, "$anchor"); !anchor.empty())
            resource.anchors.emplace(anchor, &schema);
    }
    if (resource.dialect == Dialect::k2020_12) {
        if (const auto anchor = text_member(schema, "$dynamicAnchor"); !anchor.empty()) {
            resource.anchors.emplace(anchor, &schema);
            resource.dynamic_anchors.emplace(anchor, &schema);
        }
    }
    if (resource.dialect == Dialect::k2019_09 && &schema == resource.root) {
        const Value* recursive = schema.find("$recursiveAnchor");
        if (recursive && recursive->as_bool() && *recursive->as_bool())
            resource.dynamic_anchors.emplace("", &schema);
    }
    places_.insert_or_assign(&schema, SchemaPlace{&schema, inside, location});
    return index_children(schema, inside, location);
}

Result<void> SchemaResources::index_children(const Value& schema, ResourceId inside,
                                             const std::string& location) {
    if (!schema.as_object()) return {};
    const Dialect dialect = resources_[inside]->dialect;
    for (const auto& [keyword, value] : *schema.as_object()) {
        const auto form = find_subschema_form(keyword, dialect);
        if (!form) continue;
        const std::string here = location + "/" + keyword;
        const auto single = [&] { return index(value, inside, here, false); };
        const auto array = [&]() -> Result<void> {
            if (!value.as_array()) return bad_schema(here, "must be an array of schemas");
            for (std::size_t i = 0; i < value.as_array()->size(); ++i) {
                if (auto done =
                        index((*value.as_array())[i], inside, fmt::format("{}/{}", here, i), false);
                    !done)
                    return done;
            }
            return {};
        };
        const auto map = [&](bool arrays_too) -> Result<void> {
            if (!value.as_object()) return bad_schema(here, "must be an object of schemas");
            for (const auto& [name, member] : *value.as_object()) {
                if (arrays_too && member.as_array()) continue;
                if (auto done = index(member, inside, here + "/" + escape_pointer(name), false);
                    !done)
                    return done;
            }
            return {};
        };
        Result<void> done;
        switch (*form) {
            case SubschemaForm::kSchema: done = single(); break;
            case SubschemaForm::kArray: done = array(); break;
            case SubschemaForm::kMap: done = map(false); break;
            case SubschemaForm::kSchemaOrArray: done = value.as_array() ? array() : single(); break;
            case SubschemaForm::kSchemaOrBool:
                if (!value.as_bool() || dialect > Dialect::kDraft4) done = single();
                break;
            case SubschemaForm::kMapOfAnything: done = map(true); break;
        }
        if (!done) return done;
    }
    return {};
}

std::optional<std::string_view> SchemaResources::document_text(std::string_view uri) const {
    if (options_.remotes) {
        const auto found = options_.remotes->find(std::string(uri));
        if (found != options_.remotes->end()) return found->second;
    }
    const std::string_view metaschema = find_metaschema(uri);
    if (metaschema.empty()) return std::nullopt;
    return metaschema;
}

Result<ResourceId> SchemaResources::find_resource(std::string_view uri, Dialect fallback) {
    if (const auto known = by_uri_.find(uri); known != by_uri_.end()) return known->second;
    const auto text = document_text(uri);
    if (!text)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("there is no schema \"{}\" in memory", shown(uri)));
    auto added = add_document(uri, *text, fmt::format("{}#", uri), fallback);
    if (!added) return fail(std::move(added.error()));
    return by_uri_.find(uri)->second;
}

Result<SchemaPlace> SchemaResources::resolve(ResourceId from, std::string_view reference) {
    if (auto room = spend(resources_[from]->uri.size() + reference.size()); !room)
        return fail(std::move(room.error()));
    const std::string target = resolve_uri(resources_[from]->uri, reference);
    const std::string_view uri = without_fragment(target);
    // A reference without a URI stays in its resource, also when that has no name or shares it with
    // another.
    auto resource = uri == resources_[from]->uri ? Result<ResourceId>(from)
                                                 : find_resource(uri, resources_[from]->dialect);
    if (!resource) return fail(std::move(resource.error()));
    const auto fragment = percent_decode(fragment_of(target));
    if (!fragment)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("\"{}\" has a malformed percent escape", shown(reference)));
    if (fragment->empty()) return places_.at(resources_[*resource]->root);
    if (fragment->starts_with('/')) return follow_pointer(*resource, *fragment);
    const auto& anchors = resources_[*resource]->anchors;
    const auto anchor = anchors.find(*fragment);
    if (anchor == anchors.end())
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("there is no anchor \"{}\" where \"{}\" leads", shown(*fragment),
                                shown(reference)));
    return places_.at(anchor->second);
}

// Walks step by step, because the last schema on the way gives the target its base when no keyword
// makes the target a schema.
Result<SchemaPlace> SchemaResources::follow_pointer(ResourceId from, std::string_view pointer) {
    const Value* at = resources_[from]->root;
    ResourceId inside = from;
    std::string location = resources_[from]->location;
    for (std::string_view rest = pointer; !rest.empty();) {
        rest.remove_prefix(1);
        const std::string_view step = rest.substr(0, rest.find('/'));
        rest.remove_prefix(step.size());
        if (at->as_object()) {  // looked through member by member
            if (auto room = spend(at->as_object()->size()); !room)
                return fail(std::move(room.error()));
        }
        at = at->resolve("/" + std::string(step));
        if (!at)
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("the pointer \"{}\" does not resolve", shown(pointer)));
        location.append("/").append(step);
        if (const auto known = places_.find(at); known != places_.end())
            inside = known->second.resource;
    }
    if (!places_.contains(at)) {
        if (auto done = index(*at, inside, location, false); !done)
            return fail(std::move(done.error()));
    }
    return places_.at(at);
}

}  // namespace crab::json
