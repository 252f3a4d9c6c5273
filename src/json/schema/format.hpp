#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace crab::json {

/// The values of `format` that crab can check (2020-12 validation, section 7.3).
enum class Format : std::uint8_t {
    kDateTime,
    kDate,
    kTime,
    kDuration,
    kEmail,
    kIdnEmail,
    kHostname,
    kIdnHostname,
    kIpv4,
    kIpv6,
    kUri,
    kUriReference,
    kIri,
    kIriReference,
    kUriTemplate,
    kUuid,
    kRegex,
    kJsonPointer,
    kRelativeJsonPointer,
};

/// The format of that name; nothing for names that crab does not check, which JSON Schema ignores.
std::optional<Format> find_format(std::string_view name);
/// Whether `text` has the format.
bool has_format(Format format, std::string_view text);

namespace formats {

// Each by the document that defines it; all take any bytes.
bool is_date_time(std::string_view text);  ///< RFC 3339, leap seconds at the end of a UTC day only
bool is_date(std::string_view text);  ///< RFC 3339 full-date
bool is_time(std::string_view text);  ///< RFC 3339 full-time, with its offset
bool is_duration(std::string_view text);  ///< RFC 3339, appendix A
bool is_email(std::string_view text);  ///< RFC 5321 mailbox
/// RFC 6531, leniently: any UTF-8 beyond ASCII is a letter
bool is_idn_email(std::string_view text);
bool is_hostname(std::string_view text);  ///< RFC 1123, A-labels by is_idn_hostname()
/// RFC 5890 to 5892 as far as they need no tables of scripts
bool is_idn_hostname(std::string_view text);
bool is_ipv4(std::string_view text);  ///< RFC 2673, section 3.2
bool is_ipv6(std::string_view text);  ///< RFC 4291, section 2.2; no zone
bool is_uri(std::string_view text);  ///< RFC 3986
bool is_uri_reference(std::string_view text);
/// RFC 3987, leniently: any UTF-8 beyond ASCII may stand wherever a letter may
bool is_iri(std::string_view text);
bool is_iri_reference(std::string_view text);
bool is_uri_template(std::string_view text);  ///< RFC 6570
bool is_uuid(std::string_view text);  ///< RFC 4122, any version
bool is_json_pointer(std::string_view text);  ///< RFC 6901
bool is_relative_json_pointer(std::string_view text);

}  // namespace formats
}  // namespace crab::json
