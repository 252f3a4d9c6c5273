#include "json/schema/schema_keywords.hpp"

#include <array>

namespace crab::json {
namespace {

struct Row {
    std::string_view keyword;
    SubschemaForm form;
    Dialect from = Dialect::kDraft4;
    Dialect until = Dialect::k2020_12;
};

constexpr std::array kRows{
    Row{"allOf", SubschemaForm::kArray},
    Row{"anyOf", SubschemaForm::kArray},
    Row{"oneOf", SubschemaForm::kArray},
    Row{"not", SubschemaForm::kSchema},
    Row{"if", SubschemaForm::kSchema, Dialect::kDraft7},
    Row{"then", SubschemaForm::kSchema, Dialect::kDraft7},
    Row{"else", SubschemaForm::kSchema, Dialect::kDraft7},
    Row{"properties", SubschemaForm::kMap},
    Row{"patternProperties", SubschemaForm::kMap},
    Row{"additionalProperties", SubschemaForm::kSchemaOrBool},
    Row{"propertyNames", SubschemaForm::kSchema, Dialect::kDraft6},
    Row{"dependentSchemas", SubschemaForm::kMap, Dialect::k2019_09},
    Row{"dependencies", SubschemaForm::kMapOfAnything},
    Row{"prefixItems", SubschemaForm::kArray, Dialect::k2020_12},
    Row{"items", SubschemaForm::kSchemaOrArray, Dialect::kDraft4, Dialect::k2019_09},
    Row{"items", SubschemaForm::kSchema, Dialect::k2020_12},
    Row{"additionalItems", SubschemaForm::kSchemaOrBool, Dialect::kDraft4, Dialect::k2019_09},
    Row{"contains", SubschemaForm::kSchema, Dialect::kDraft6},
    Row{"unevaluatedItems", SubschemaForm::kSchema, Dialect::k2019_09},
    Row{"unevaluatedProperties", SubschemaForm::kSchema, Dialect::k2019_09},
    Row{"contentSchema", SubschemaForm::kSchema, Dialect::k2019_09},
    Row{"definitions", SubschemaForm::kMap},
    Row{"$defs", SubschemaForm::kMap, Dialect::k2019_09},
};

}  // namespace

std::optional<SubschemaForm> find_subschema_form(std::string_view keyword, Dialect dialect) {
    for (const Row& row : kRows) {
        if (row.keyword == keyword && dialect >= row.from && dialect <= row.until) return row.form;
    }
    return std::nullopt;
}

}  // namespace crab::json
