#pragma once

#include "core/audit/metrics.hpp"
#include "net/http/http_exchange.hpp"
#include "net/http/route.hpp"

#include <vector>

namespace crab::admin {

/// Answers `/metrics`: in OpenMetrics' form to those that ask for it by name, else in Prometheus'.
void answer_metrics(net::HttpExchange& exchange, const core::MetricsPage& metrics);
/// What that is, for the documents.
std::vector<net::RouteAnswer> metrics_answers();
net::RouteParameter metrics_header();

}  // namespace crab::admin
