#pragma once

#include "json/schema/schema_program.hpp"
#include "json/schema/schema_resources.hpp"

#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace crab::json {

/// Turns one schema and all that it refers to into a program. Use one compiler for one schema.
class SchemaCompiler {
public:
    explicit SchemaCompiler(const SchemaOptions& options) : resources_(options) {}

    /// Errors as Schema::compile().
    Result<std::unique_ptr<const SchemaProgram>> compile(std::string_view text);
    std::size_t spent() const { return resources_.spent(); }

private:
    static constexpr std::size_t kMaxNodes = 100'000;

    /// The schema whose keywords are being read.
    struct Reading {
        const Value& schema;
        const SchemaPlace place;
        const SchemaResource& resource;
        SchemaNode node{};

        bool since(Dialect dialect) const { return resource.dialect >= dialect; }
    };

    NodeId node_for(const SchemaPlace& place);
    NodeId subschema(const Value& schema) { return node_for(resources_.place_of(&schema)); }
    void read(NodeId id);
    void read_types(Reading& at);
    void read_values(Reading& at);
    void read_numbers(Reading& at);
    void read_strings(Reading& at);
    void read_arrays(Reading& at);
    void read_objects(Reading& at);
    void read_dependencies(Reading& at, ObjectRules& rules);
    void read_references(Reading& at, InPlaceRules& rules);
    void read_in_place(Reading& at);
    bool close_dynamic_references();

    const Value* find(const Reading& at, std::string_view keyword) const {
        return at.schema.find(keyword);
    }
    /// Counts the program's memory; compilation fails beyond the options' limit.
    void spend(std::size_t bytes);
    std::optional<Pattern> pattern(const Reading& at, std::string_view keyword,
                                   std::string_view ecma);
    void refuse(const Reading& at, std::string_view keyword, std::string_view reason);
    std::optional<Number> number(const Reading& at, std::string_view keyword);
    /// Whether there was one, which is then in `out`.
    bool count(const Reading& at, std::string_view keyword, std::size_t& out);
    bool flag(const Reading& at, std::string_view keyword);
    std::optional<std::vector<std::string_view>> names(const Reading& at, std::string_view keyword,
                                                       const Value& value);
    NodeId optional_subschema(const Reading& at, std::string_view keyword);
    std::vector<NodeId> subschemas(const Reading& at, std::string_view keyword);

    SchemaResources resources_;
    std::unique_ptr<SchemaProgram> program_ = std::make_unique<SchemaProgram>();
    std::unordered_map<const Value*, NodeId> known_;
    std::vector<SchemaPlace> places_;  // by node
    std::optional<Error> error_;
};

}  // namespace crab::json
