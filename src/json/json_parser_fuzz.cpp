// Any bytes: the parser says yes or no, what it accepts survives being written and read again, and
// its one pass reads what simdjson reads.

#include "base/fuzz_check.hpp"
#include "json/parser.hpp"
#include "json/test_single_pass.hpp"
#include "json/value.hpp"
#include "json/writer.hpp"

using namespace crab::json;
using crab::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kMost = 16 << 10;
    if (size > kMost) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    static Parser parser({.max_bytes = kMost, .max_depth = 32});
    static Parser other({.max_bytes = 8 * kMost, .max_depth = 32});

    require(BothReaders(32).differ_in(text).empty());

    std::string quoted;
    append_quoted_lossy(quoted, text);
    require(other.parse(quoted).has_value());

    const auto root = parser.parse(text);
    if (!root) return 0;
    const Element element = root->element();
    const std::string written = to_text(element);
    const auto again = other.parse(written);
    require(again.has_value() && to_text(again->element()) == written);

    Object object;
    if (element.get(object) == simdjson::SUCCESS) {
        TokenParts parts = root->members();
        for (const auto field : object) {
            require(parts.next() && parts.name() == field.key);
            const auto raw = root->raw_member(field.key);
            require(raw.has_value() && raw->data() >= text.data() &&
                    raw->data() + raw->size() <= text.data() + text.size());
            const auto member = other.parse(*raw);
            require(member.has_value() &&
                    to_text(member->element()) == to_text(*get(element, field.key)));
        }
        require(!parts.next());
    }
    // Equality is defined for values without repeated members, which are those that an owned value
    // can be made of.
    if (const auto value = Value::parse(text, {.max_bytes = kMost, .max_depth = 32})) {
        require(equal(element, element) && equal(element, *value) &&
                hash_of(element) == hash_of(*value));
        require(Value::parse(value->dump()).value() == *value);
    }
    return 0;
}
