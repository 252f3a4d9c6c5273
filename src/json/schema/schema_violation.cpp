#include "json/schema/schema_violation.hpp"

#include "json/writer.hpp"

namespace crab::json {

std::string to_json(std::span<const SchemaViolation> violations) {
    std::string out;
    Writer writer(out);
    writer.begin_array();
    for (const SchemaViolation& violation : violations) {
        writer.begin_object();
        writer.key("pointer").string(violation.instance_pointer);
        writer.key("schema").string(violation.schema_pointer);
        writer.key("rule").string(violation.rule);
        writer.key("message").string(violation.message);
        writer.end_object();
    }
    writer.end_array();
    return out;
}

}  // namespace crab::json
