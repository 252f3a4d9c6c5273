#include "json/schema/schema_keywords.hpp"

#include <array>

namespace crab::json {
namespace {

struct KeywordRow {
    std::string_view keyword;
    SubschemaForm form;
    Dialect from = Dialect::kDraft4;
    Dialect until = Dialect::k2020_12;
};

constexpr std::array kKeywords{
    KeywordRow{"allOf", SubschemaForm::kArray},
    KeywordRow{"anyOf", SubschemaForm::kArray},
    KeywordRow{"oneOf", SubschemaForm::kArray},
    KeywordRow{"not", SubschemaForm::kSchema},
    KeywordRow{"if", SubschemaForm::kSchema, Dialect::kDraft7},
    KeywordRow{"then", SubschemaForm::kSchema, Dialect::kDraft7},
    KeywordRow{"else", SubschemaForm::kSchema, Dialect::kDraft7},
    KeywordRow{"properties", SubschemaForm::kMap},
    KeywordRow{"patternProperties", SubschemaForm::kMap},
    KeywordRow{"additionalProperties", SubschemaForm::kSchemaOrBool},
    KeywordRow{"propertyNames", SubschemaForm::kSchema, Dialect::kDraft6},
    KeywordRow{"dependentSchemas", SubschemaForm::kMap, Dialect::k2019_09},
    KeywordRow{"dependencies", SubschemaForm::kMapOfAnything},
    KeywordRow{"prefixItems", SubschemaForm::kArray, Dialect::k2020_12},
    KeywordRow{"items", SubschemaForm::kSchemaOrArray, Dialect::kDraft4, Dialect::k2019_09},
    KeywordRow{"items", SubschemaForm::kSchema, Dialect::k2020_12},
    KeywordRow{"additionalItems", SubschemaForm::kSchemaOrBool, Dialect::kDraft4,
               Dialect::k2019_09},
    KeywordRow{"contains", SubschemaForm::kSchema, Dialect::kDraft6},
    KeywordRow{"unevaluatedItems", SubschemaForm::kSchema, Dialect::k2019_09},
    KeywordRow{"unevaluatedProperties", SubschemaForm::kSchema, Dialect::k2019_09},
    KeywordRow{"contentSchema", SubschemaForm::kSchema, Dialect::k2019_09},
    KeywordRow{"definitions", SubschemaForm::kMap},
    KeywordRow{"$defs", SubschemaForm::kMap, Dialect::k2019_09},
};

}  // namespace

std::optional<SubschemaForm> find_subschema_form(std::string_view keyword, Dialect dialect) {
    for (const KeywordRow& row : kKeywords) {
        if (row.keyword == keyword && dialect >= row.from && dialect <= row.until) return row.form;
    }
    return std::nullopt;
}

}  // namespace crab::json
