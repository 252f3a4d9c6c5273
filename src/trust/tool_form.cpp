#include "trust/tool_form.hpp"

#include "json/writer.hpp"

namespace crab::trust {

std::string form_of(const core::ToolSpec& tool) {
    std::string form;
    json::Writer writer(form);
    writer.begin_object().key("description").string_lossy(tool.description);
    writer.key("effects").string(core::name_of(tool.effects()));
    writer.key("schema").raw(tool.input_schema.empty() ? "{}" : tool.input_schema);
    if (!tool.output_schema.empty()) writer.key("output_schema").raw(tool.output_schema);
    writer.end_object();
    return form;
}

}  // namespace crab::trust
