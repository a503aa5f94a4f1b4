#pragma once

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "decoder/base/errors.h"
#include "tests/support/tiny_model.h"

namespace headroom::test {

inline nlohmann::json changed(nlohmann::json config, const char* key, const nlohmann::json& value) {
  config[key] = value;
  return config;
}

/// Requires that loading the config fails with a one-line error that contains all of these words.
inline void refuses(const nlohmann::json& config, const std::vector<std::string>& words) {
  try {
    model_of(config);
    FAIL("accepted " << config.dump());
  } catch (const InputError& error) {
    for (const std::string& word : words) CHECK_THAT(error.what(), Catch::Contains(word));
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
  }
}

}  // namespace headroom::test
