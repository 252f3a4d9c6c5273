#include "adapters/cetp/manifest.hpp"

#include "adapters/cetp/key_file.hpp"
#include "base/whole_number.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace crab::cetp {
namespace {

constexpr std::string_view kGroup = "CETP Provider";
constexpr std::string_view kDesktopGroup = "Desktop Entry";
constexpr std::string_view kInterface = "com.clawseed.Cetp.Provider1";
constexpr std::string_view kNameSuffix = ".Cetp1";
constexpr int kVersion = 1;
constexpr std::size_t kMaxBusName = 255;

std::unexpected<Error> wrong(std::string message) {
    return fail(ErrorCode::kInvalidArgs, std::move(message));
}

/// Rule 7.
Result<void> check_version(const std::optional<std::string>& text) {
    if (!text) return {};
    const auto version = parse_whole_number<int>(*text);
    if (!version) return wrong(fmt::format("its protocol version `{}` is no integer", *text));
    if (*version > kVersion)
        return wrong(
            fmt::format("it speaks protocol version {}, and {} is understood", *version, kVersion));
    return {};
}

bool is_element(std::string_view element, bool may_begin_with_digit, std::string_view more) {
    if (element.empty() || (!may_begin_with_digit && element[0] >= '0' && element[0] <= '9'))
        return false;
    return std::ranges::all_of(element, [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               more.contains(c);
    });
}

/// The text of `key`, which has to be one of `words`; the first of them when absent.
Result<std::string> one_of(const KeyFile& file, std::string_view key,
                           std::initializer_list<std::string_view> words) {
    std::string text = file.get(kGroup, key).value_or(std::string(*words.begin()));
    if (std::ranges::find(words, text) == words.end())
        return wrong(fmt::format("{}: write {}", key, fmt::join(words, ", ")));
    return text;
}

Result<void> read_address(const KeyFile& file, const ManifestContext& context,
                          ProviderRecord& record) {
    const auto transport = one_of(file, "Transport", {"dbus", "exec", "unix"});
    const auto bus = one_of(file, "Bus", {"session", "system"});
    if (!transport) return fail(transport.error());
    if (!bus) return fail(bus.error());
    record.bus = *bus == "system" ? Bus::kSystem : Bus::kSession;
    if (*transport == "dbus") {
        record.transport = Transport::kDbus;
        record.bus_name = file.get(kGroup, "BusName").value_or(record.id);
        if (!is_bus_name(record.bus_name))
            return wrong(fmt::format("BusName: `{}` is not a bus name", record.bus_name));
        record.object_path =
            file.get(kGroup, "ObjectPath").value_or(default_object_path(record.bus_name));
        if (!is_object_path(record.object_path))
            return wrong(fmt::format("ObjectPath: `{}` is not an object path", record.object_path));
    } else if (*transport == "exec") {
        record.transport = Transport::kExec;
        record.exec = file.get(kGroup, "Exec").value_or("");
        if (!record.exec.starts_with('/'))
            return wrong("Exec: name a program by its absolute path");
    } else {
        record.transport = Transport::kUnix;
        record.socket = file.get(kGroup, "Socket").value_or("");
        if (record.socket.starts_with("%t/")) record.socket.replace(0, 2, context.runtime_dir);
        if (!record.socket.starts_with('/'))
            return wrong("Socket: name it by an absolute path, or begin with %t/");
    }
    return {};
}

Result<void> read_permissions(const KeyFile& file, ProviderRecord& record) {
    const auto network = file.flag(kGroup, "Network");
    const auto disabled = file.flag(kGroup, "DefaultDisabled");
    const auto home = one_of(file, "Home", {"none", "read"});
    if (!network) return fail(network.error());
    if (!disabled) return fail(disabled.error());
    if (!home) return fail(home.error());
    record.network = *network;
    record.read_home = *home == "read";
    record.off_until_allowed = *disabled || record.network || record.read_home;
    return {};
}

}  // namespace

std::string default_object_path(std::string_view bus_name) {
    std::string path = fmt::format("/{}", bus_name);
    std::ranges::replace(path, '.', '/');
    std::ranges::replace(path, '-', '_');
    return path;
}

bool is_bus_name(std::string_view name) {
    if (name.size() > kMaxBusName || !name.contains('.')) return false;
    while (true) {
        const std::size_t dot = name.find('.');
        if (!is_element(name.substr(0, dot), false, "_-")) return false;
        if (dot == name.npos) return true;
        name.remove_prefix(dot + 1);
    }
}

bool is_object_path(std::string_view path) {
    if (path == "/") return true;
    while (path.starts_with('/')) {
        path.remove_prefix(1);
        const std::size_t slash = path.find('/');
        if (!is_element(path.substr(0, slash), true, "_")) return false;
        if (slash == path.npos) return true;
        path.remove_prefix(slash);
    }
    return false;
}

Reading read_manifest(std::string_view id, std::string_view text, const ManifestContext& context) {
    const auto file = KeyFile::parse(text);
    if (!file) return fail(file.error());
    if (!file->has_group(kGroup)) return wrong(fmt::format("it has no group [{}]", kGroup));
    const auto hidden = file->flag(kGroup, "Hidden");
    if (!hidden) return fail(hidden.error());
    if (*hidden) return std::nullopt;
    if (const auto version = check_version(file->get(kGroup, "ProtocolVersion")); !version)
        return fail(version.error());
    ProviderRecord record{.id = std::string(id), .found_by = FoundBy::kManifest};
    if (const auto address = read_address(*file, context, record); !address)
        return fail(address.error());
    if (const auto permissions = read_permissions(*file, record); !permissions)
        return fail(permissions.error());
    record.name = file->get_localized(kGroup, "Name", context.locale).value_or("");
    if (record.name.empty()) record.name = record.id;
    record.label = file->get(kGroup, "Label").value_or("");
    record.desktop_id = file->get(kGroup, "DesktopId").value_or("");
    return record;
}

std::optional<Reading> read_desktop_entry(std::string_view id, std::string_view text,
                                          const ManifestContext& context) {
    const auto file = KeyFile::parse(text);
    if (!file) {  // most entries are no providers, and their faults are not ours to report
        return text.contains(kInterface) ? std::optional(Reading(fail(file.error())))
                                         : std::nullopt;
    }
    if (file->get(kDesktopGroup, "Hidden") == "true") return Reading(std::nullopt);
    const std::string implements =
        fmt::format(";{};", file->get(kDesktopGroup, "Implements").value_or(""));
    if (!implements.contains(fmt::format(";{};", kInterface))) return std::nullopt;
    if (const auto version = check_version(file->get(kDesktopGroup, "X-Cetp-Version")); !version)
        return Reading(fail(version.error()));
    ProviderRecord record{
        .id = std::string(id), .found_by = FoundBy::kDesktopEntry, .bus_name = std::string(id)};
    if (!is_bus_name(record.bus_name))
        return Reading(wrong(fmt::format("its file name `{}` is not a bus name", id)));
    record.object_path = file->get(kDesktopGroup, "X-Cetp-ObjectPath")
                             .value_or(default_object_path(record.bus_name));
    if (!is_object_path(record.object_path))
        return Reading(wrong(
            fmt::format("X-Cetp-ObjectPath: `{}` is not an object path", record.object_path)));
    record.desktop_id = fmt::format("{}.desktop", id);
    record.name = file->get_localized(kDesktopGroup, "Name", context.locale).value_or("");
    if (record.name.empty()) record.name = record.id;
    record.label = file->get(kDesktopGroup, "X-Cetp-Label").value_or("");
    record.off_until_allowed = file->get(kDesktopGroup, "X-Flatpak").has_value();
    return Reading(std::move(record));
}

std::optional<Reading> read_activatable_name(std::string_view name) {
    if (!name.ends_with(kNameSuffix) || !is_bus_name(name)) return std::nullopt;
    const std::string id(name.substr(0, name.size() - kNameSuffix.size()));
    return Reading(ProviderRecord{.id = id,
                                  .found_by = FoundBy::kActivatableName,
                                  .bus_name = std::string(name),
                                  .object_path = default_object_path(name),
                                  .name = id,
                                  .off_until_allowed = true});
}

Discovery choose(std::vector<Candidate> candidates) {
    std::map<std::string, ProviderRecord> chosen;
    std::set<std::string> decided;
    Discovery discovery;
    for (Candidate& candidate : candidates) {
        if (!decided.insert(candidate.id).second) continue;
        if (!candidate.reading) {
            discovery.diagnostics.push_back(
                fmt::format("{}: {}", candidate.where, candidate.reading.error().message));
        } else if (*candidate.reading) {
            chosen.emplace(candidate.id, std::move(**candidate.reading));
        }
    }
    for (auto& [id, record] : chosen) discovery.records.push_back(std::move(record));
    return discovery;
}

}  // namespace crab::cetp
