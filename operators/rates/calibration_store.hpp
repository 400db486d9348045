// The calibrations of one engine: what its files held, and what it measured since.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "garuda/calibration.hpp"
#include "garuda/error.hpp"
#include "operators/rates/calibration_file.hpp"
#include "operators/rates/rates.hpp"
#include "vk_runtime/device/device_traits.hpp"

namespace garuda::rates {

/// Rates, and whether they were measured or are assumed.
template <class Rates>
struct KnownRates {
  Rates rates;
  bool measured = false;
};

/// Thread-safe.
class CalibrationStore {
 public:
  /// Reads the files of the host and of `devices` in `folder`. nullopt: nothing is read or kept.
  CalibrationStore(std::optional<std::filesystem::path> folder, std::span<vk::DeviceTraits const* const> devices);

  /// Of device `index`: measured, or assumed by its type.
  KnownRates<DeviceRates> device(std::size_t index) const;
  /// Of the host with `threads` threads: measured with as many, scaled from what was measured with all, or assumed.
  KnownRates<HostRates> host(std::uint32_t threads) const;
  /// Why files were ignored.
  std::vector<std::string> notes() const;

  /// Takes measured rates over, from now on, and writes their file. Errors: output; the rates are taken over all the
  /// same.
  Result<void> keep(std::size_t device, DeviceRates const& rates);
  Result<void> keep(HostRates const& rates);

  /// nullopt: nothing is read or kept.
  std::optional<std::filesystem::path> const& folder() const noexcept { return folder_; }
  /// Names of the files that rates are kept in, without folder.
  std::string device_file(std::size_t index) const { return file_name(devices_.at(index).subject); }
  std::string host_file() const { return file_name(host_.subject); }

  /// Whether what is not measured is about to be, for plans to say so.
  void set_being_measured(bool is) noexcept { being_measured_ = is; }
  bool is_being_measured() const noexcept { return being_measured_; }

  /// The host, for listings.
  CalibrationInfo host_info() const;
  CalibrationInfo device_info(std::size_t index) const;

 private:
  template <class Rates>
  struct Entry {
    Subject subject;
    Found<Rates> found;
  };

  std::string file_of(Subject const& subject) const;

  std::optional<std::filesystem::path> folder_;
  std::vector<vk::DeviceType> types_;
  std::atomic<bool> being_measured_{false};
  mutable std::mutex mutex_;
  Entry<HostRates> host_;
  std::vector<Entry<DeviceRates>> devices_;
};

}  // namespace garuda::rates
