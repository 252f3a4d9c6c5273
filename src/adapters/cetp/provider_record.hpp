#pragma once

#include <cstdint>
#include <string>

namespace crab::cetp {

enum class Transport : std::uint8_t { kDbus, kExec, kUnix, kBuiltIn };
enum class Bus : std::uint8_t { kSession, kSystem };
enum class FoundBy : std::uint8_t { kManifest, kDesktopEntry, kActivatableName, kBuiltIn };

/// What discovery knows about a provider before any of its code has run. Source:
/// docs/protocols/cetp.md, section 2.
struct ProviderRecord {
    std::string id{};
    FoundBy found_by = FoundBy::kManifest;
    Transport transport = Transport::kDbus;
    Bus bus = Bus::kSession;
    /// kDbus; of kBuiltIn the name is what it reads, for people
    std::string bus_name{}, object_path{};
    std::string exec{};  ///< kExec: program and arguments, as a shell quotes them
    std::string socket{};  ///< kUnix: an absolute path
    std::string desktop_id{};  ///< may be empty
    std::string name{};  ///< for people; never empty
    std::string label{};  ///< a suggestion; may be empty
    bool network = false;  ///< kExec: requests network access
    bool read_home = false;  ///< kExec: requests to read the home folder
    bool off_until_allowed = false;  ///< disabled until the user enables it

    friend bool operator==(const ProviderRecord&, const ProviderRecord&) = default;
};

}  // namespace crab::cetp
