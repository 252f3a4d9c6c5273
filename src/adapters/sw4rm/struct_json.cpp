#include "adapters/sw4rm/struct_json.hpp"

#include "json/writer.hpp"
#include "net/codec/protobuf.hpp"

#include <bit>
#include <cmath>

namespace crab::sw4rm {
namespace {

using net::ProtobufReader;
constexpr int kMostDepth = 64;

bool append_value(json::Writer& writer, std::string_view bytes, int depth);

bool append_struct(json::Writer& writer, std::string_view bytes, int depth) {
    if (depth > kMostDepth) return false;
    writer.begin_object();
    ProtobufReader fields(bytes);
    while (const auto field = fields.next()) {
        if (field->number != 1 || !field->is_bytes()) continue;
        std::string_view key, value;
        ProtobufReader entry(field->bytes);
        while (const auto part = entry.next()) {
            if (part->number == 1 && part->is_bytes()) key = part->bytes;
            if (part->number == 2 && part->is_bytes()) value = part->bytes;
        }
        if (entry.failed()) return false;
        writer.key(key);
        if (!append_value(writer, value, depth)) return false;
    }
    writer.end_object();
    return !fields.failed();
}

bool append_list(json::Writer& writer, std::string_view bytes, int depth) {
    if (depth > kMostDepth) return false;
    writer.begin_array();
    ProtobufReader fields(bytes);
    while (const auto field = fields.next()) {
        if (field->number == 1 && field->is_bytes() && !append_value(writer, field->bytes, depth))
            return false;
    }
    writer.end_array();
    return !fields.failed();
}

// google.protobuf.Value: the last of its kinds counts, and none is null.
bool append_value(json::Writer& writer, std::string_view bytes, int depth) {
    ProtobufReader fields(bytes);
    std::optional<ProtobufReader::Field> last;
    while (const auto field = fields.next()) {
        if (field->number <= 6) last = field;
    }
    if (fields.failed()) return false;
    switch (last ? last->number : 1) {
        case 2: {
            const double number = std::bit_cast<double>(last->value);
            if (last->type != ProtobufReader::Type::kFixed64 || !std::isfinite(number))
                return false;
            // every number of a Struct is a double; whole ones are meant as such
            constexpr double kMostExact = 9'007'199'254'740'992;
            if (std::trunc(number) == number && std::abs(number) <= kMostExact) {
                writer.integer(static_cast<std::int64_t>(number));
            } else {
                writer.number(number);
            }
            return true;
        }
        case 3: writer.string_lossy(last->bytes); return last->is_bytes();
        case 4: writer.boolean(last->value != 0); return true;
        case 5: return last->is_bytes() && append_struct(writer, last->bytes, depth + 1);
        case 6: return last->is_bytes() && append_list(writer, last->bytes, depth + 1);
        default: writer.null(); return true;
    }
}

}  // namespace

std::optional<std::string> struct_to_json(std::string_view bytes) {
    std::string text;
    json::Writer writer(text);
    if (!append_struct(writer, bytes, 1)) return std::nullopt;
    return text;
}

}  // namespace crab::sw4rm
