#include "setup/machine_checks.hpp"

#include "setup/tls_certificates.hpp"

#include <string_view>
#include <system_error>
#include <utility>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::setup {
namespace {

using State = MachineCheck::State;

constexpr std::size_t kOtherFiles = 256;  // that are open beside connections
constexpr std::uintmax_t kLittleRoom = std::uintmax_t{1} << 30;  // bytes
constexpr std::uintmax_t kNoRoom = std::uintmax_t{64} << 20;

}  // namespace

std::string_view name_of(State state) {
    switch (state) {
        case State::kOk: return "ok";
        case State::kWarn: return "warn";
        case State::kFail: return "fail";
    }
    return "";
}

MachineCheck check_folder(std::string name, const std::filesystem::path& path) {
    MachineCheck found{.name = std::move(name), .state = State::kFail, .text = path.string()};
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) {
        found.state = State::kWarn;
        found.text += " is missing";
        found.fix = "the gateway makes it when it starts";
    } else if (!S_ISDIR(status.st_mode)) {
        found.text += " is not a directory";
        found.fix = "remove it";
    } else if ((status.st_mode & 077) != 0) {
        found.text = "others may enter " + path.string();
        found.fix = "run chmod 700 " + path.string();
    } else if (::access(path.c_str(), W_OK) != 0) {
        found.text += " is not writable";
        found.fix = "run this as the gateway's user";
    } else {
        found.state = State::kOk;
    }
    return found;
}

MachineCheck check_open_files(const config::GatewayConfig& config) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    MachineCheck found{.name = "open files", .text = fmt::format("at most {}", limit.rlim_max)};
    if (limit.rlim_max == RLIM_INFINITY ||
        limit.rlim_max >= config.listen.max_connections + kOtherFiles)
        return found;
    found.state = State::kWarn;
    found.text += fmt::format(", but {} connections are configured", config.listen.max_connections);
    found.fix = "raise LimitNOFILE or lower listen.max_connections";
    return found;
}

MachineCheck check_clock() {
    const auto now = std::chrono::system_clock::now();
    MachineCheck found{.name = "clock", .text = to_rfc3339(now)};
    timex state{};
    if (now < std::chrono::sys_days(std::chrono::year(2026) / 1 / 1)) {
        found.state = State::kFail;
        found.text += " is in the past";
        found.fix = "set the clock";
    } else if (::adjtimex(&state) == TIME_ERROR) {
        found.state = State::kWarn;
        found.text += ", not synchronized";
        found.fix = "run a time service";
    }
    return found;
}

MachineCheck check_disk(const std::filesystem::path& folder) {
    std::error_code error;
    const auto space = std::filesystem::space(folder, error);
    if (error) return {.name = "disk", .state = State::kWarn, .text = error.message()};
    MachineCheck found{.name = "disk",
                       .text = fmt::format("{} MiB are free", space.available >> 20)};
    if (space.available >= kLittleRoom) return found;
    found.state = space.available < kNoRoom ? State::kFail : State::kWarn;
    found.fix = "free some, or move gateway.state_dir";
    return found;
}

CertificateCheck check_certificate(std::string name, const config::TlsOptions& files,
                                   SystemTime now) {
    CertificateCheck found{.check = {.name = std::move(name), .text = {}}, .not_after = {}};
    const auto certificate = check_tls_files(files.cert, files.key, now);
    if (!certificate) {
        found.check.state = State::kFail;
        found.check.text = certificate.error().message;
        found.check.fix = "crab tls init makes one, crab gateway check says whether it fits";
        return found;
    }
    found.not_after = certificate->not_after();
    const auto left = std::chrono::floor<std::chrono::days>(*found.not_after - now);
    found.check.text = fmt::format("valid for {} more days", left.count());
    if (left >= kRenewBefore) return found;
    found.check.state = State::kWarn;
    found.check.fix = "renew it: crab tls init";
    return found;
}

}  // namespace crab::setup
