#include "config/references.hpp"

#include "json/pointer.hpp"

#include <fstream>

#include <fmt/format.h>

namespace crab::config {
namespace {

constexpr std::size_t kMaxFileBytes = 64 * 1024;

bool is_name(std::string_view text) {
    if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
    return text.find_first_not_of(
               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == text.npos;
}

class Expander {
public:
    Expander(YamlDocument& document, const std::filesystem::path& folder,
             const Environment& environment, Problems& problems)
        : document_(document), folder_(folder), environment_(environment), problems_(problems) {}

    void visit(json::Value& value, const std::string& pointer) {
        if (auto* items = value.as_array()) {
            for (std::size_t i = 0; i < items->size(); ++i)
                visit((*items)[i], fmt::format("{}/{}", pointer, i));
        } else if (auto* members = value.as_object()) {
            for (auto& [key, member] : *members)
                visit(member, pointer + "/" + json::escape_pointer(key));
        } else if (const std::string* text = value.as_string();
                   text && text->find("${") != text->npos) {
            if (text->starts_with("${") && text->find('}') == text->size() - 1)
                found_.sole.insert(pointer);
            value = expand(*text, pointer);
        }
    }
    References found() && { return std::move(found_); }

private:
    std::string expand(std::string_view text, const std::string& pointer) {
        std::string out;
        while (true) {
            const std::size_t at = text.find("${");
            if (at == text.npos) return out.append(text);
            if (at > 0 && text[at - 1] == '$') {
                out.append(text.substr(0, at - 1)).append("${");
                text.remove_prefix(at + 2);
                continue;
            }
            const std::size_t end = text.find('}', at);
            if (end == text.npos) {
                problem(pointer, "a ${ has no } after it; write $${ for the characters ${");
                return out;
            }
            out.append(text.substr(0, at))
                .append(resolve(text.substr(at + 2, end - at - 2), pointer));
            text.remove_prefix(end + 1);
        }
    }

    std::string resolve(std::string_view reference, const std::string& pointer) {
        if (reference.starts_with("file:")) return read(reference.substr(5), pointer);
        if (reference.starts_with("env:")) reference.remove_prefix(4);  // as MCP's clients write it
        const std::size_t fallback = reference.find(":-");
        const std::string_view name = reference.substr(0, fallback);
        if (!is_name(name)) {
            problem(pointer, fmt::format("${{{}}} is not a reference; use ${{NAME}}, "
                                         "${{NAME:-default}} or ${{file:path}}",
                                         reference));
            return {};
        }
        std::optional<std::string> value = environment_(name);
        if (fallback != reference.npos && (!value || value->empty()))
            return std::string(reference.substr(fallback + 2));
        if (!value) {
            problem(
                pointer,
                fmt::format(
                    "the environment variable {0} is not set; set it or write ${{{0}:-default}}",
                    name));
            return {};
        }
        return std::move(*value);
    }

    std::string read(std::string_view path, const std::string& pointer) {
        const std::filesystem::path file = folder_ / path;
        found_.files.push_back(file);
        std::error_code error;
        std::ifstream stream;
        if (std::filesystem::is_regular_file(file, error)) stream.open(file, std::ios::binary);
        std::string content(kMaxFileBytes + 1, '\0');
        stream.read(content.data(), static_cast<std::streamsize>(content.size()));
        content.resize(static_cast<std::size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
        if (!stream.is_open() || stream.bad()) {
            problem(pointer, fmt::format("cannot read the file {}; it has to exist and be readable",
                                         file.string()));
            return {};
        }
        if (content.size() > kMaxFileBytes) {
            problem(pointer, fmt::format("the file {} has more than {} bytes", file.string(),
                                         kMaxFileBytes));
            return {};
        }
        if (content.ends_with('\n')) content.pop_back();
        if (content.ends_with('\r')) content.pop_back();
        return content;
    }

    void problem(const std::string& pointer, std::string message) {
        problems_.push_back({document_.line_of(pointer), pointer, std::move(message)});
    }

    YamlDocument& document_;
    const std::filesystem::path& folder_;
    const Environment& environment_;
    Problems& problems_;
    References found_;
};

}  // namespace

References expand_references(YamlDocument& document, const std::filesystem::path& folder,
                             const Environment& environment, Problems& problems) {
    Expander expander(document, folder, environment, problems);
    expander.visit(document.value, "");
    return std::move(expander).found();
}

}  // namespace crab::config
