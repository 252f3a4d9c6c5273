#include "gateway/operator/process_metrics.hpp"

#include "base/process/process_stats.hpp"
#include "base/version.hpp"
#include "trust/refused_credentials.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

using core::append_metric;

constexpr std::chrono::seconds kProbeEvery{1};

double seconds_of(SystemTime time) {
    return std::chrono::duration<double>(time.time_since_epoch()).count();
}

/// `# HELP` and `# TYPE` of a family with labels.
void append_family(std::string& out, std::string_view name, std::string_view type,
                   std::string_view help) {
    fmt::format_to(std::back_inserter(out), "# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
}

}  // namespace

Result<void> ProcessMetrics::start() {
    started_ = uses_.context.clock.system_now();
    uses_.reload.at = std::chrono::floor<std::chrono::seconds>(started_).time_since_epoch().count();
    for (std::size_t i = 0; i < uses_.loops.all().size(); ++i)
        lags_.push_back(std::make_shared<std::atomic<std::int64_t>>(0));
    probe_ = std::make_unique<net::Periodic>(uses_.loops.first(), kProbeEvery,
                                             [this] { probe_loops(); });
    return {};
}

void ProcessMetrics::stop(Deadline deadline) {
    uses_.loops.finish(uses_.loops.first(), deadline, [this](const std::function<void()>& done) {
        probe_.reset();
        done();
    });
}

void ProcessMetrics::probe_loops() {
    const SteadyTime posted = uses_.context.clock.steady_now();
    const auto loops = uses_.loops.all();
    for (std::size_t i = 0; i < loops.size(); ++i) {
        loops[i]->post([&clock = uses_.context.clock, posted, lag = lags_[i]] {
            *lag = (clock.steady_now() - posted).count();
        });
    }
}

void ProcessMetrics::add_metrics(core::MetricsPage& page) {
    page.add([this](std::string& out) {
        append_process(out);
        append_certificates(out);
        append_refusals(out);
        append_metric(out, "crab_config_last_reload_successful", "gauge",
                      "Whether the configuration was good when it was last read.",
                      uses_.reload.successful ? 1 : 0);
        append_metric(out, "crab_config_last_reload_success_timestamp_seconds", "gauge",
                      "When the configuration was last taken.",
                      static_cast<double>(uses_.reload.at.load()));
        append_loops(out);
    });
}

void ProcessMetrics::append_process(std::string& out) const {
    append_family(out, "crab_build_info", "gauge", "The version that runs; always 1.");
    fmt::format_to(std::back_inserter(out), "crab_build_info{{version=\"{}\"}} 1\n", version());
    const ProcessStats stats = read_process_stats();
    append_metric(out, "process_cpu_seconds_total", "counter", "Processor time, user and system.",
                  stats.cpu_seconds);
    append_metric(out, "process_resident_memory_bytes", "gauge", "Memory in use.",
                  static_cast<double>(stats.resident_bytes));
    append_metric(out, "process_open_fds", "gauge", "Open file descriptors.",
                  static_cast<double>(stats.open_files));
    append_metric(out, "process_max_fds", "gauge", "File descriptors that may be open.",
                  static_cast<double>(stats.most_files));
    append_metric(out, "process_start_time_seconds", "gauge", "When it started, since 1970.",
                  seconds_of(started_));
}

void ProcessMetrics::append_certificates(std::string& out) const {
    constexpr std::string_view kName = "crab_certificate_expiry_timestamp_seconds";
    append_family(out, kName, "gauge", "When a certificate of the gateway ends, since 1970.");
    const auto line = [&](std::string_view name, std::optional<SystemTime> ends) {
        if (ends)
            fmt::format_to(
                std::back_inserter(out), "{}{{name=\"{}\"}} {}\n", kName, name,
                std::chrono::floor<std::chrono::seconds>(*ends).time_since_epoch().count());
    };
    line("public", uses_.public_listener.certificate_ends());
    line("grpc", uses_.grpc.certificate_ends());
    line("pairing_ca", uses_.peers.keys_of_gateway().authority.certificate().not_after());
}

void ProcessMetrics::append_refusals(std::string& out) const {
    using trust::Entrance;
    constexpr std::string_view kName = "crab_auth_failures_total";
    append_family(out, kName, "counter", "Credentials that were refused.");
    for (const auto& [name, entrance] :
         {std::pair<std::string_view, Entrance>{"public", Entrance::kPublic},
          {"grpc", Entrance::kGrpc},
          {"peers", Entrance::kPeers}})
        fmt::format_to(std::back_inserter(out), "{}{{listener=\"{}\"}} {}\n", kName, name,
                       trust::refused_credentials(entrance));
}

void ProcessMetrics::append_loops(std::string& out) const {
    constexpr std::string_view kName = "crab_loop_lag_seconds";
    append_family(out, kName, "gauge", "How long something waited for its event loop lately.");
    for (std::size_t i = 0; i < lags_.size(); ++i)
        fmt::format_to(std::back_inserter(out), "{}{{loop=\"{}\"}} {}\n", kName, i,
                       static_cast<double>(lags_[i]->load()) / 1e9);
}

}  // namespace crab::gateway
