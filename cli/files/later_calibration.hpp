// A calibration that a command leaves behind when it ends.
#pragma once

namespace garuda::cli {

/// Starts `garuda calibrate --missing` in a session of its own, without standard streams, and does not wait for it.
/// Where no process can be started, nothing happens: plans go on with assumed rates, and say so.
void calibrate_later() noexcept;

}  // namespace garuda::cli
