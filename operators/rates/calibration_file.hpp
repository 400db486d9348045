// The files in which calibrations survive between runs: one of the host, one a device.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

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

/// What was found in a file. Without rates and note there is no file.
template <class Rates>
struct Found {
  std::optional<Rates> rates;
  std::string note;  ///< why a file was ignored: one sentence
};

/// Reads the subject's file in `folder`. A file that is damaged, cut short, of another subject or of another version of
/// garuda is ignored, with a note. Never fails.
Found<DeviceRates> read_device(std::filesystem::path const& folder, Subject const& subject);
Found<HostRates> read_host(std::filesystem::path const& folder, Subject const& subject);

/// Writes the subject's file under a temporary name and renames it, so that readers see the old file or the new one;
/// makes the folder when it is missing. `source`: where the rates come from, for readers.
/// Errors: output, naming the file.
Result<std::filesystem::path> write(std::filesystem::path const& folder, Subject const& subject,
                                    DeviceRates const& rates, std::string const& source);
Result<std::filesystem::path> write(std::filesystem::path const& folder, Subject const& subject, HostRates const& rates,
                                    std::string const& source);

/// Reads a calibration that was recorded elsewhere, whatever its subject and version. Errors: invalid_input.
Result<DeviceRates> read_recorded_device(std::filesystem::path const& file);
Result<HostRates> read_recorded_host(std::filesystem::path const& file);

}  // namespace garuda::rates
