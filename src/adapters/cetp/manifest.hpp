#pragma once

#include "adapters/cetp/provider_record.hpp"
#include "base/result.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::cetp {

/// The environment in which a record is read.
struct ManifestContext {
    std::string locale{};       ///< such as `de_AT.UTF-8`; may be empty
    std::string runtime_dir{};  ///< what `%t` in `Socket` stands for
};

/// The content of one file or name: a provider; nothing if it masks its id; or the error for which
/// it is skipped, which masks the id too.
using Reading = Result<std::optional<ProviderRecord>>;

/// `cetp/providers/<id>.ini`. Source: docs/protocols/cetp.md, section 2 and rules 3, 4 and 7.
Reading read_manifest(std::string_view id, std::string_view text, const ManifestContext& context);
/// `applications/<id>.desktop`; an outer nothing when it does not implement the interface.
std::optional<Reading> read_desktop_entry(std::string_view id, std::string_view text,
                                          const ManifestContext& context);
/// An activatable bus name; an outer nothing when it does not end in `.Cetp1`.
std::optional<Reading> read_activatable_name(std::string_view name);

/// One file or bus name that declares a provider.
struct Candidate {
    std::string id;
    std::string where;  ///< for diagnostics: a file or a bus name
    Reading reading;
};
struct Discovery {
    std::vector<ProviderRecord> records;  ///< by id
    std::vector<std::string> diagnostics;  ///< each names its `where`
};
/// Of several candidates with one id the first counts, whatever it contains. They are ordered by
/// precedence: manifests before desktop entries before names, the user's folder before the
/// system's.
Discovery choose(std::vector<Candidate> candidates);

/// The path that goes with a bus name: `/` and the name with `.` as `/` and `-` as `_`.
std::string default_object_path(std::string_view bus_name);
/// A well-known name by the D-Bus specification.
bool is_bus_name(std::string_view name);
/// An object path by the D-Bus specification.
bool is_object_path(std::string_view path);

}  // namespace crab::cetp
