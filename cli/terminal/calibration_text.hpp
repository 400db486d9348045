// How calibrations are shown, as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "garuda/calibration.hpp"

namespace garuda::cli {

/// "measured, FILE" or "assumed by type of device; garuda calibrate measures it", and why a file was ignored.
std::string calibration_state(CalibrationInfo const& info);

/// A line a rate, indented.
std::string calibration_text(CalibrationInfo const& info);

/// {"measured", "file", "note", "rates": {NAME: {"unit", "value" | "size", "points"}}}
nlohmann::ordered_json calibration_json(CalibrationInfo const& info);

}  // namespace garuda::cli
