#include "operators/rates/calibration_store.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/info.h>

#include <utility>

namespace garuda::rates {
namespace {

constexpr char const* kMeasuredHere = "measured by garuda calibrate";

std::uint32_t all_threads() { return static_cast<std::uint32_t>(oneapi::tbb::info::default_concurrency()); }

void scale(RateCurve& curve, double factor) {
  for (auto& point : curve.points) point.per_s *= factor;
}

/// Rates of fewer or more threads than were measured with: in proportion, but for copies, which one thread nearly
/// saturates the memory with.
HostRates with_threads(HostRates rates, std::uint32_t threads) {
  auto const factor = static_cast<double>(threads) / rates.threads;
  rates.threads = threads;
  rates.encoded_keys_per_s *= factor;
  for (auto const& field : host_curve_fields()) scale(rates.*field.curve, factor);
  return rates;
}

template <class Rates>
std::vector<RateInfo> list(Rates const& rates, std::span<RateField<Rates> const> fields) {
  std::vector<RateInfo> infos;
  for (auto const& field : fields)
    if (!field.optional || rates.*field.value > 0)
      infos.push_back({std::string(field.name), std::string(field.unit), rates.*field.value, "", {}});
  return infos;
}

}  // namespace

CalibrationStore::CalibrationStore(std::optional<std::filesystem::path> folder,
                                   std::span<vk::DeviceTraits const* const> devices)
    : folder_(std::move(folder)) {
  host_.subject = host_subject(all_threads());
  if (folder_) host_.found = read_host(*folder_, host_.subject);
  for (auto const* traits : devices) {
    Entry<DeviceRates> entry{subject_of(*traits), {}};
    if (folder_) entry.found = read_device(*folder_, entry.subject);
    devices_.push_back(std::move(entry));
    types_.push_back(traits->type);
  }
}

KnownRates<DeviceRates> CalibrationStore::device(std::size_t index) const {
  std::lock_guard const lock(mutex_);
  auto const& rates = devices_.at(index).found.rates;
  return {rates ? *rates : default_device_rates(types_.at(index)), rates.has_value()};
}

KnownRates<HostRates> CalibrationStore::host(std::uint32_t threads) const {
  std::lock_guard const lock(mutex_);
  auto const& rates = host_.found.rates;
  return {rates ? with_threads(*rates, threads) : default_host_rates(threads), rates.has_value()};
}

std::vector<std::string> CalibrationStore::notes() const {
  std::lock_guard const lock(mutex_);
  std::vector<std::string> notes;
  if (!host_.found.note.empty()) notes.push_back(host_.found.note);
  for (auto const& entry : devices_)
    if (!entry.found.note.empty()) notes.push_back(entry.found.note);
  return notes;
}

Result<void> CalibrationStore::keep(std::size_t device, DeviceRates const& rates) {
  std::lock_guard const lock(mutex_);
  auto& entry = devices_.at(device);
  entry.found = {rates, ""};
  if (folder_) GARUDA_TRY(write(*folder_, entry.subject, rates, kMeasuredHere));
  return {};
}

Result<void> CalibrationStore::keep(HostRates const& rates) {
  std::lock_guard const lock(mutex_);
  host_.found = {with_threads(rates, all_threads()), ""};
  if (folder_) GARUDA_TRY(write(*folder_, host_.subject, *host_.found.rates, kMeasuredHere));
  return {};
}

CalibrationInfo CalibrationStore::host_info() const {
  auto const known = host(all_threads());
  CalibrationInfo info;
  info.rates = list(known.rates, host_rate_fields());
  for (auto const& field : host_curve_fields()) {
    RateInfo rate{std::string(field.name), std::string(field.unit), 0, std::string(field.size), {}};
    for (auto const& point : (known.rates.*field.curve).points) rate.points.emplace_back(point.size, point.per_s);
    info.rates.push_back(std::move(rate));
  }
  std::lock_guard const lock(mutex_);
  info.name = host_.subject.name;
  info.driver = host_.subject.driver;
  info.measured = known.measured;
  info.file = known.measured ? file_of(host_.subject) : "";
  info.note = host_.found.note;
  return info;
}

CalibrationInfo CalibrationStore::device_info(std::size_t index) const {
  auto const known = device(index);
  std::lock_guard const lock(mutex_);
  auto const& entry = devices_.at(index);
  CalibrationInfo info;
  info.device = static_cast<std::uint32_t>(index);
  info.name = entry.subject.name;
  info.driver = entry.subject.driver;
  info.measured = known.measured;
  info.file = known.measured ? file_of(entry.subject) : "";
  info.note = entry.found.note;
  info.rates = list(known.rates, device_rate_fields());
  return info;
}

std::string CalibrationStore::file_of(Subject const& subject) const {
  return folder_ ? (*folder_ / file_name(subject)).string() : "";
}

}  // namespace garuda::rates
