#include "json/schema/format.hpp"

#include "json/schema/ecma_regex.hpp"

#include <array>
#include <utility>

namespace crab::json {
namespace {

constexpr std::array kNames{
    std::pair{std::string_view("date-time"), Format::kDateTime},
    std::pair{std::string_view("date"), Format::kDate},
    std::pair{std::string_view("time"), Format::kTime},
    std::pair{std::string_view("duration"), Format::kDuration},
    std::pair{std::string_view("email"), Format::kEmail},
    std::pair{std::string_view("idn-email"), Format::kIdnEmail},
    std::pair{std::string_view("hostname"), Format::kHostname},
    std::pair{std::string_view("idn-hostname"), Format::kIdnHostname},
    std::pair{std::string_view("ipv4"), Format::kIpv4},
    std::pair{std::string_view("ipv6"), Format::kIpv6},
    std::pair{std::string_view("uri"), Format::kUri},
    std::pair{std::string_view("uri-reference"), Format::kUriReference},
    std::pair{std::string_view("iri"), Format::kIri},
    std::pair{std::string_view("iri-reference"), Format::kIriReference},
    std::pair{std::string_view("uri-template"), Format::kUriTemplate},
    std::pair{std::string_view("uuid"), Format::kUuid},
    std::pair{std::string_view("regex"), Format::kRegex},
    std::pair{std::string_view("json-pointer"), Format::kJsonPointer},
    std::pair{std::string_view("relative-json-pointer"), Format::kRelativeJsonPointer}};

}  // namespace

std::optional<Format> find_format(std::string_view name) {
    for (const auto& [known, format] : kNames) {
        if (known == name) return format;
    }
    return std::nullopt;
}

bool has_format(Format format, std::string_view text) {
    switch (format) {
        case Format::kDateTime: return formats::is_date_time(text);
        case Format::kDate: return formats::is_date(text);
        case Format::kTime: return formats::is_time(text);
        case Format::kDuration: return formats::is_duration(text);
        case Format::kEmail: return formats::is_email(text);
        case Format::kIdnEmail: return formats::is_idn_email(text);
        case Format::kHostname: return formats::is_hostname(text);
        case Format::kIdnHostname: return formats::is_idn_hostname(text);
        case Format::kIpv4: return formats::is_ipv4(text);
        case Format::kIpv6: return formats::is_ipv6(text);
        case Format::kUri: return formats::is_uri(text);
        case Format::kUriReference: return formats::is_uri_reference(text);
        case Format::kIri: return formats::is_iri(text);
        case Format::kIriReference: return formats::is_iri_reference(text);
        case Format::kUriTemplate: return formats::is_uri_template(text);
        case Format::kUuid: return formats::is_uuid(text);
        case Format::kRegex: return translate_ecma_regex(text).has_value();
        case Format::kJsonPointer: return formats::is_json_pointer(text);
        case Format::kRelativeJsonPointer: return formats::is_relative_json_pointer(text);
    }
    return true;
}

}  // namespace crab::json
