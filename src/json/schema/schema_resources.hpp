#pragma once

#include "base/result.hpp"
#include "json/schema/schema.hpp"
#include "json/value.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace crab::json {

using ResourceId = std::uint32_t;

/// A schema with an identifier of its own: a document's root or a subschema with `$id` (2020-12
/// core, section 4.3.5).
struct SchemaResource {
    std::string uri;  ///< without a fragment; empty for a root that has none
    const Value* root = nullptr;
    std::string location;  ///< of its root, as violations name it
    Dialect dialect = Dialect::k2020_12;
    Vocabularies vocabularies;
    std::map<std::string, const Value*, std::less<>> anchors;  ///< every plain name
    /// The names that dynamic references may find; "" stands for `$recursiveAnchor: true`.
    std::map<std::string, const Value*, std::less<>> dynamic_anchors;
};

/// Where a schema stands.
struct SchemaPlace {
    const Value* schema = nullptr;
    ResourceId resource = 0;
    std::string location;
};

/// The documents that one compilation touches, and how references between them resolve. Remote
/// documents and metaschemas come from memory when a reference first names them.
class SchemaResources {
public:
    explicit SchemaResources(const SchemaOptions& options) : options_(options) {}
    SchemaResources(const SchemaResources&) = delete;
    SchemaResources& operator=(const SchemaResources&) = delete;

    /// Takes the schema to be compiled. Errors as Schema::compile().
    Result<SchemaPlace> add_root(std::string_view text);
    /// Resolves `reference` relative to a schema in `from`. Errors: kInvalidArgs.
    Result<SchemaPlace> resolve(ResourceId from, std::string_view reference);
    /// The place of a subschema; it is in a document that was added.
    const SchemaPlace& place_of(const Value* schema) const { return places_.at(schema); }
    const SchemaResource& resource(ResourceId id) const { return *resources_[id]; }

    /// Counts memory that the program takes, or as many bytes as work is worth. Errors: kOversize
    /// once it is more than the options allow.
    Result<void> spend(std::size_t bytes);
    std::size_t spent() const { return spent_; }

private:
    struct Meaning {
        Dialect dialect;
        Vocabularies vocabularies;
    };

    Result<SchemaPlace> add_document(std::string_view uri, std::string_view text,
                                     std::string location, Dialect fallback);
    Result<Meaning> meaning_of(const Value& schema, Dialect fallback, int depth = 0);
    Result<void> index(const Value& schema, ResourceId inside, std::string location, bool is_root);
    Result<void> index_children(const Value& schema, ResourceId inside,
                                const std::string& location);
    Result<ResourceId> add_resource(std::string uri, const Value& root, const std::string& location,
                                    Meaning meaning);
    Result<ResourceId> find_resource(std::string_view uri, Dialect fallback);
    Result<SchemaPlace> follow_pointer(ResourceId from, std::string_view pointer);
    std::optional<std::string_view> document_text(std::string_view uri) const;

    const SchemaOptions& options_;
    std::size_t spent_ = 0;
    std::vector<std::unique_ptr<Value>> documents_;
    std::vector<std::unique_ptr<SchemaResource>> resources_;
    std::map<std::string, ResourceId, std::less<>> by_uri_;
    std::unordered_map<const Value*, SchemaPlace> places_;
};

}  // namespace crab::json
