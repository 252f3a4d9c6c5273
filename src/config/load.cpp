#include "config/load.hpp"

#include "config/read_config.hpp"
#include "config/references.hpp"
#include "config/schema_check.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

namespace crab::config {
namespace {

const json::Value& schema() {
    static const json::Value parsed = json::Value::parse(schema_text()).value();
    return parsed;
}

}  // namespace

Result<GatewayConfig> load_text(std::string_view text, const std::filesystem::path& name,
                                const Environment& environment) {
    Problems problems;
    YamlDocument document = read_yaml(text, problems);
    if (!problems.empty()) return fail(to_error(std::move(problems), name));
    ConfigOrigin origin(document);
    auto references = expand_references(document, name.parent_path(), environment, problems);
    check_keys_and_types(schema(), document, references.sole, problems);
    check_schema(schema(), document, problems);
    GatewayConfig config = read_config(document.value);
    check_rules(config, document, problems);
    if (!problems.empty()) return fail(to_error(std::move(problems), name));
    config.source = name;
    config.quoted = std::move(references.files);
    config.origin = std::move(origin);
    return config;
}

Result<GatewayConfig> load_file(const std::filesystem::path& path, const Environment& environment) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error))
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("{} is a directory; name a file", path.string()));
    std::ifstream stream(path, std::ios::binary);
    if (!stream) {
        const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kForbidden;
        return fail(code, fmt::format("cannot read {}: {}", path.string(), std::strerror(errno)));
    }
    std::string text(YamlLimits{}.max_bytes + 1, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(stream.gcount()));
    return load_text(text, path, environment);
}

Result<GatewayConfig> load_first(const std::filesystem::path& given, const Paths& paths,
                                 const Environment& environment) {
    if (!given.empty()) {
        auto loaded = load_file(given, environment);
        // A file that was named and is not there is a mistake in the command, not something that
        // was looked for.
        if (!loaded && loaded.error().code == ErrorCode::kNotFound)
            loaded.error().code = ErrorCode::kInvalidArgs;
        return loaded;
    }
    for (const std::filesystem::path& candidate : paths.config_candidates()) {
        std::error_code error;
        if (std::filesystem::exists(candidate, error)) return load_file(candidate, environment);
    }
    return GatewayConfig{};
}

}  // namespace crab::config
