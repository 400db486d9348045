// Measured speeds of devices and host, with which the planner prices every strategy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "garuda/control.hpp"

namespace garuda {

/// One rate, or the rates at several sizes.
struct RateInfo {
  std::string name;                               ///< "random_points", "gather", …
  std::string unit;                               ///< "points/s", "bytes/s", "ns", …
  double value = 0;                               ///< 0 for rates at sizes
  std::string size;                               ///< what the rate depends on: "bytes of the column"; else empty
  std::vector<std::pair<double, double>> points;  ///< (size, rate), ascending; else empty
};

/// The rates of a device or of the host.
struct CalibrationInfo {
  std::optional<std::uint32_t> device;  ///< index into Engine::devices(); nullopt: the host
  std::string name;
  std::string driver;           ///< name and version; of the host: its threads
  bool measured = false;        ///< false: rates assumed by type of device
  std::string file;             ///< where the calibration is kept; empty: nowhere
  std::string note;             ///< why a file was ignored: one sentence; else empty
  std::vector<RateInfo> rates;  ///< empty for a device that is not usable
};

struct CalibrateOptions {
  /// Index or part of a name, or "host"; nullopt: the host and every usable device.
  std::optional<std::string> device;
  std::uint32_t threads = 0;  ///< that the host is measured with; 0: all; at most kMostThreads
  Control control;
};

}  // namespace garuda
