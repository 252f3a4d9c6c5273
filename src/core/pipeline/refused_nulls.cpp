#include "core/pipeline/refused_nulls.hpp"

#include "json/parser.hpp"
#include "json/pointer.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace crab::core {
namespace {

// A check names a few violations at a time.
constexpr int kMostRounds = 8;

class Copy {
public:
    Copy(std::string& out, std::span<const json::SchemaViolation> violations)
        : writer_(out), violations_(violations) {}

    /// Writes `raw`, the value at `pointer`.
    void value(std::string_view raw, std::string& pointer) {
        const bool object = raw.starts_with('{'), array = raw.starts_with('[');
        if (!object && !array) {
            writer_.raw(raw);
            return;
        }
        object ? writer_.begin_object() : writer_.begin_array();
        const std::size_t length = pointer.size();
        std::size_t index = 0;
        for (json::RawParts parts(raw); parts.next(); ++index, pointer.resize(length)) {
            pointer += '/';
            pointer += object ? json::escape_pointer(parts.name()) : std::to_string(index);
            if (object && parts.value() == "null" && is_refused(pointer)) {
                dropped = true;
                continue;
            }
            if (object) writer_.key(parts.name());
            value(parts.value(), pointer);
        }
        object ? writer_.end_object() : writer_.end_array();
    }

    bool dropped = false;

private:
    bool is_refused(std::string_view pointer) const {
        return std::ranges::find(violations_, pointer, &json::SchemaViolation::instance_pointer) !=
               violations_.end();
    }

    json::Writer writer_;
    const std::span<const json::SchemaViolation> violations_;
};

}  // namespace

std::optional<std::string> drop_refused_nulls(std::string_view args, const json::Schema& schema,
                                              std::span<const json::SchemaViolation> violations) {
    if (!args.contains("null")) return std::nullopt;
    json::Parser parser;
    std::string text(args);
    std::vector<json::SchemaViolation> left(violations.begin(), violations.end());
    for (int round = 0; round < kMostRounds; ++round) {
        std::string next, root;
        Copy copy(next, left);
        copy.value(text, root);
        if (!copy.dropped) return std::nullopt;
        text = std::move(next);
        const auto parsed = parser.parse(text);
        if (!parsed) return std::nullopt;
        left = schema.check(parsed->element());
        if (left.empty()) return text;
    }
    return std::nullopt;
}

}  // namespace crab::core
