#include "admin/metrics_answer.hpp"

#include "net/codec/accept.hpp"

namespace crab::admin {
namespace {

constexpr std::string_view kPrometheusType = "text/plain; version=0.0.4";
constexpr std::string_view kOpenMetricsType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

core::MetricsForm form_for(std::string_view accept) {
    const auto open = net::accept_weight(accept, "application/openmetrics-text", "1.0.0");
    const auto plain = net::accept_weight(accept, "text/plain", "0.0.4");
    return open.weight > 0 && open > plain ? core::MetricsForm::kOpenMetrics
                                           : core::MetricsForm::kPrometheus;
}

}  // namespace

void answer_metrics(net::HttpExchange& exchange, const core::MetricsPage& metrics) {
    const core::MetricsForm form = form_for(exchange.request().find("accept").value_or(""));
    const bool open = form == core::MetricsForm::kOpenMetrics;
    exchange.respond(200, open ? kOpenMetricsType : kPrometheusType, metrics.text(form),
                     {{"Vary", "Accept"}});
}

std::vector<net::RouteAnswer> metrics_answers() {
    return {{200, {}, kPrometheusType}, {200, {}, kOpenMetricsType}};
}

net::RouteParameter metrics_header() {
    return {"Accept", "application/openmetrics-text for OpenMetrics, which has exemplars"};
}

}  // namespace crab::admin
