#include "cli/output/pretty_json.hpp"

#include "cli/output/terminal.hpp"
#include "json/writer.hpp"

namespace crab::cli {
namespace {

void append_pretty(std::string& out, const json::Value& value, std::size_t depth) {
    const auto line = [&](std::size_t at) { out.append("\n").append(2 * at, ' '); };
    if (const auto* items = value.as_array(); items && !items->empty()) {
        out += '[';
        for (std::size_t i = 0; i < items->size(); ++i) {
            if (i > 0) out += ',';
            line(depth + 1);
            append_pretty(out, (*items)[i], depth + 1);
        }
        line(depth);
        out += ']';
    } else if (const auto* members = value.as_object(); members && !members->empty()) {
        out += '{';
        for (std::size_t i = 0; i < members->size(); ++i) {
            if (i > 0) out += ',';
            line(depth + 1);
            json::append_quoted(out, (*members)[i].first);
            out += ": ";
            append_pretty(out, (*members)[i].second, depth + 1);
        }
        line(depth);
        out += '}';
    } else {
        value.append_to(out);
    }
}

}  // namespace

std::string pretty(const json::Value& value) {
    std::string out;
    append_pretty(out, value, 0);
    return out;
}

void print_json(const json::Value& value) {
    print_line(Terminal::out().interactive() ? printable(pretty(value), Lines::kKeep)
                                             : value.dump());
}

std::string text_of(const json::Value& object, std::string_view key) {
    const json::Value* member = object.find(key);
    if (!member || member->is_null()) return "";
    return member->as_string() ? *member->as_string() : member->dump();
}

std::int64_t number_of(const json::Value& object, std::string_view key) {
    const json::Value* member = object.find(key);
    return member ? member->as_int64().value_or(0) : 0;
}

bool flag_of(const json::Value& object, std::string_view key) {
    const json::Value* member = object.find(key);
    return member && member->as_bool() && *member->as_bool();
}

const json::Value::Items& items_of(const json::Value& object, std::string_view key) {
    static const json::Value::Items none;
    const json::Value* member = object.find(key);
    return member && member->as_array() ? *member->as_array() : none;
}

}  // namespace crab::cli
