// Calibrations: the files in which they survive between runs, one of the host and one a device, and those of one
// engine: what its files held, and what it measured since.
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
#include "operators/rates/rates.hpp"
#include "vk_runtime/device/device_traits.hpp"

namespace garuda::rates {

/// The version of this library, which measured, and what it measured on. A file of another subject is not taken.
struct Subject {
  std::string name;    ///< of the device, or of the host's processor
  std::string driver;  ///< name and version; of the host: "<threads> threads"
  std::string uuid;    ///< hexadecimal, with the driver's version; empty for the host

  friend bool operator==(Subject const&, Subject const&) = default;
};

Subject subject_of(vk::DeviceTraits const& traits);
/// The host with the processor's name as the operating system gives it.
Subject host_subject(std::uint32_t threads);

/// Name of the subject's file, without folder.
std::string file_name(Subject const& subject);

/// Folder of calibrations: calibration/ in the cache folder; nothing where there is no cache folder.
std::optional<std::filesystem::path> default_folder();

/// The content of a file. Without rates and note there is no file.
template <class Rates>
struct Found {
  std::optional<Rates> rates;
  std::string note;  ///< why a file was ignored: one sentence
};

/// Reads the subject's file in `folder`. A file that is damaged, cut short, of another subject or of another version of
/// garuda is ignored, with a note. Never fails.
template <class Rates>
Found<Rates> read(std::filesystem::path const& folder, Subject const& subject);

/// Writes the subject's file under a temporary name and renames it, so that readers see the old file or the new one;
/// makes the folder when it is missing. `source`: where the rates come from, for readers.
/// Errors: output, naming the file.
template <class Rates>
Result<std::filesystem::path> write(std::filesystem::path const& folder, Subject const& subject, Rates const& rates,
                                    std::string const& source);

/// Reads a calibration that was recorded elsewhere, whatever its subject and version. Errors: invalid_input.
template <class Rates>
Result<Rates> read_recorded(std::filesystem::path const& file);

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

  /// Rates of device `index`: measured, or assumed by its type.
  KnownRates<DeviceRates> device(std::size_t index) const;
  /// Rates of the host with `threads` threads: measured with as many, scaled from those of all threads, or assumed.
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

  template <class Rates>
  CalibrationInfo info_of(Entry<Rates> const& entry, KnownRates<Rates> const& known,
                          std::span<RateField<Rates> const> fields) const;

  std::optional<std::filesystem::path> folder_;
  std::vector<vk::DeviceType> types_;
  std::atomic<bool> being_measured_{false};
  mutable std::mutex mutex_;
  Entry<HostRates> host_;
  std::vector<Entry<DeviceRates>> devices_;
};

}  // namespace garuda::rates
