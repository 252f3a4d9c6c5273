// A schema and an instance, apart by a NUL byte (or the text as both): compiling and validating
// end, agree with each other, and what they say is itself JSON.

#include "json/parser.hpp"
#include "json/schema/schema.hpp"
#include "json/value.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace crab::json;
    constexpr std::size_t kMost = 4 << 10;
    if (size > kMost) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::size_t middle = text.find('\0');
    const std::string_view schema_text = text.substr(0, middle);
    const std::string_view instance_text =
        middle == std::string_view::npos ? text : text.substr(middle + 1);

    static Parser parser({.max_bytes = kMost, .max_depth = 32});
    const auto schema =
        Schema::compile(schema_text, {.assert_formats = true, .max_bytes = kMost, .max_depth = 32});
    if (!schema) {
        if (schema.error().message.empty()) std::abort();
        return 0;
    }
    const auto instance = parser.parse(instance_text);
    if (!instance) return 0;
    const auto violations = (*schema)->validate(instance->element());
    if (violations.empty() != (*schema)->is_valid(instance->element())) std::abort();
    if (!Value::parse(to_json(violations))) std::abort();
    return 0;
}
