#pragma once

#include "base/clock.hpp"
#include "config/gateway_config.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace crab::setup {

/// What was found out about one thing of this machine.
struct MachineCheck {
    enum class State : std::uint8_t { kOk, kWarn, kFail };

    std::string name;  ///< such as `open files`
    State state = State::kOk;
    std::string text;
    std::string fix{};  ///< what to do about it; empty: nothing
};
std::string_view name_of(MachineCheck::State state);  ///< `ok`, `warn`, `fail`

/// The checks that `crab doctor` and a running gateway have in common. They look and change
/// nothing; they block as long as looking at a file does.
MachineCheck check_folder(std::string name, const std::filesystem::path& path);
/// Whether this process may open as many files as connections are configured.
MachineCheck check_open_files(const config::GatewayConfig& config);
MachineCheck check_clock();
/// How much room is left where `folder` is.
MachineCheck check_disk(const std::filesystem::path& folder);

/// A certificate of a listener and its end; nothing: it cannot be read.
struct CertificateCheck {
    MachineCheck check;
    std::optional<SystemTime> not_after;
};
/// `name` is the key of the configuration, such as `listen.tls`. It warns kRenewBefore its end.
CertificateCheck check_certificate(std::string name, const config::TlsOptions& files,
                                   SystemTime now);
inline constexpr std::chrono::days kRenewBefore{14};

}  // namespace crab::setup
