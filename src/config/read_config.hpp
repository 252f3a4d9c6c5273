#pragma once

#include "config/gateway_config.hpp"
#include "config/problems.hpp"
#include "config/yaml_document.hpp"

namespace crab::config {

/// Fills the structs from a document that matches the schema. Members of another type are skipped.
GatewayConfig read_config(const json::Value& document);

/// Adds a problem for each violation that the schema cannot express: contradictory keys, a public
/// address that needs TLS, and so on.
void check_rules(const GatewayConfig& config, const YamlDocument& document, Problems& problems);

}  // namespace crab::config
