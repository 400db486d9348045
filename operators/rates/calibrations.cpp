#include "operators/rates/calibrations.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/info.h>

#include <atomic>
#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/os/process.hpp"
#include "core/os/processor.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::rates {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr char const* kFormat = "garuda calibration";
/// Grows whenever a rate is added, dropped or measured otherwise.
constexpr std::uint32_t kFormatVersion = 3;
/// A larger file is not ours.
constexpr std::uintmax_t kLargestFile = std::uintmax_t{1} << 20;

template <class Rates>
Json fields_to_json(Rates const& rates, std::span<RateField<Rates> const> fields) {
  auto json = Json::object();
  for (auto const& field : fields)
    if (!field.optional || rates.*field.value > 0) json[std::string(field.name)] = rates.*field.value;
  return json;
}

Json to_json(DeviceRates const& rates) { return fields_to_json(rates, device_rate_fields()); }

Json to_json(HostRates const& rates) {
  auto json = fields_to_json(rates, host_rate_fields());
  json["threads"] = rates.threads;
  for (auto const& field : host_curve_fields()) {
    auto points = Json::array();
    for (auto const& point : (rates.*field.curve).points) points.push_back({point.size, point.per_s});
    json[std::string(field.name)] = std::move(points);
  }
  return json;
}

template <class Rates>
void read_fields(Json const& json, std::span<RateField<Rates> const> fields, Rates& rates) {
  for (auto const& field : fields) {
    std::string const name(field.name);
    if (!field.optional || json.contains(name)) rates.*field.value = json.at(name).template get<double>();
  }
}

void from_json(Json const& json, DeviceRates& rates) { read_fields(json, device_rate_fields(), rates); }

void from_json(Json const& json, HostRates& rates) {
  read_fields(json, host_rate_fields(), rates);
  rates.threads = json.at("threads").get<std::uint32_t>();
  for (auto const& field : host_curve_fields())
    for (auto const& point : json.at(std::string(field.name)))
      (rates.*field.curve).points.push_back({point.at(0).get<double>(), point.at(1).get<double>()});
}

Json document(Subject const& subject, Json rates, std::string const& source) {
  return {{"format", kFormat},    {"format_version", kFormatVersion}, {"garuda_version", GARUDA_VERSION},
          {"name", subject.name}, {"driver", subject.driver},         {"uuid", subject.uuid},
          {"source", source},     {"rates", std::move(rates)}};
}

/// The document in `file`. The sentence of the error says why it is none.
Result<Json> read_document(fs::path const& file) {
  std::error_code error;
  auto const size = fs::file_size(file, error);
  if (error || size > kLargestFile) return fail(ErrorCode::invalid_input, "it is not a file of at most 1 MiB");
  std::ifstream in(file, std::ios::binary);
  auto json = Json::parse(in, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return fail(ErrorCode::invalid_input, "it is damaged or cut short");
  if (json.value("format", Json()) != kFormat) return fail(ErrorCode::invalid_input, "it is not a calibration");
  if (json.value("format_version", Json()) != kFormatVersion)
    return fail(ErrorCode::invalid_input, "its format is another version's");
  return json;
}

template <class Rates>
Result<Rates> rates_of(Json const& json) {
  Rates rates;
  try {
    from_json(json.at("rates"), rates);
  } catch (Json::exception const&) {
    return fail(ErrorCode::invalid_input, "it lacks rates");
  }
  if (!are_sane(rates)) return fail(ErrorCode::invalid_input, "it holds rates that cannot be");
  return rates;
}

template <class Rates>
Result<Rates> read_own(fs::path const& file, Subject const& subject) {
  GARUDA_TRY_ASSIGN(auto const json, read_document(file));
  if (json.value("garuda_version", Json()) != GARUDA_VERSION)
    return fail(ErrorCode::invalid_input, "another version of garuda measured it");
  // As it was written: with the bytes of names that are not UTF-8 replaced.
  auto const expected = Json::parse(document(subject, Json(), "").dump(-1, ' ', false, Json::error_handler_t::replace));
  for (auto const* key : {"name", "driver", "uuid"})
    if (json.value(key, Json()) != expected.at(key))
      return fail(ErrorCode::invalid_input, "it is of another device or driver");
  return rates_of<Rates>(json);
}

Result<fs::path> write_document(fs::path const& file, Json const& json) {
  static std::atomic<std::uint32_t> counter{0};
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  auto const temporary = fs::path(file).concat(fmt::format(".{}-{}", os::process_id(), counter.fetch_add(1)));
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  // Names come from drivers: bytes that are not UTF-8 are replaced, never thrown on.
  out << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  out.close();
  error.clear();
  if (out) fs::rename(temporary, file, error);
  if (out && !error) return file;
  std::error_code ignored;
  fs::remove(temporary, ignored);
  return fail(ErrorCode::output, fmt::format("the calibration cannot be written: {}", file.string()));
}

/// Lower-case letters and digits of `text`, words joined by dashes.
std::string slug(std::string const& text) {
  std::string result;
  for (char const c : text) {
    auto const byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && std::isalnum(byte) != 0)
      result += static_cast<char>(std::tolower(byte));
    else if (!result.empty() && result.back() != '-')
      result += '-';
  }
  if (result.ends_with('-')) result.pop_back();
  return result;
}

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

Subject subject_of(vk::DeviceTraits const& traits) {
  std::string uuid;
  for (auto const byte : traits.uuid) uuid += fmt::format("{:02x}", byte);
  return {traits.name,
          fmt::format("{}{}{}", traits.driver_name, traits.driver_info.empty() ? "" : " ", traits.driver_info),
          fmt::format("{}-{:08x}", uuid, traits.driver_version)};
}

Subject host_subject(std::uint32_t threads) { return {os::processor_name(), fmt::format("{} threads", threads), ""}; }

std::string file_name(Subject const& subject) {
  return subject.uuid.empty() ? fmt::format("host-{}-{}.json", slug(subject.name), slug(subject.driver))
                              : fmt::format("device-{}.json", subject.uuid);
}

std::optional<fs::path> default_folder() {
  auto const folder = vk::default_cache_folder();
  if (!folder) return std::nullopt;
  return *folder / "calibration";
}

template <class Rates>
Found<Rates> read(fs::path const& folder, Subject const& subject) {
  auto const file = folder / file_name(subject);
  std::error_code error;
  if (!fs::exists(file, error)) return {};
  auto rates = read_own<Rates>(file, subject);
  if (rates) return {std::move(*rates), ""};
  return {std::nullopt, fmt::format("calibration ignored, {}: {}", rates.error().message(), file.string())};
}

template Found<DeviceRates> read(fs::path const& folder, Subject const& subject);
template Found<HostRates> read(fs::path const& folder, Subject const& subject);

template <class Rates>
Result<fs::path> write(fs::path const& folder, Subject const& subject, Rates const& rates, std::string const& source) {
  return write_document(folder / file_name(subject), document(subject, to_json(rates), source));
}
template Result<fs::path> write(fs::path const& folder, Subject const& subject, DeviceRates const& rates,
                                std::string const& source);
template Result<fs::path> write(fs::path const& folder, Subject const& subject, HostRates const& rates,
                                std::string const& source);

template <class Rates>
Result<Rates> read_recorded(fs::path const& file) {
  GARUDA_TRY_ASSIGN(auto const json, read_document(file));
  return rates_of<Rates>(json);
}
template Result<DeviceRates> read_recorded(fs::path const& file);
template Result<HostRates> read_recorded(fs::path const& file);

CalibrationStore::CalibrationStore(std::optional<std::filesystem::path> folder,
                                   std::span<vk::DeviceTraits const* const> devices)
    : folder_(std::move(folder)) {
  host_.subject = host_subject(all_threads());
  if (folder_) host_.found = read<HostRates>(*folder_, host_.subject);
  for (auto const* traits : devices) {
    Entry<DeviceRates> entry{subject_of(*traits), {}};
    if (folder_) entry.found = read<DeviceRates>(*folder_, entry.subject);
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
  auto info = info_of(host_, known, host_rate_fields());
  for (auto const& field : host_curve_fields()) {
    RateInfo rate{std::string(field.name), std::string(field.unit), 0, std::string(field.size), {}};
    for (auto const& point : (known.rates.*field.curve).points) rate.points.emplace_back(point.size, point.per_s);
    info.rates.push_back(std::move(rate));
  }
  return info;
}

CalibrationInfo CalibrationStore::device_info(std::size_t index) const {
  auto info = info_of(devices_.at(index), device(index), device_rate_fields());
  info.device = static_cast<std::uint32_t>(index);
  return info;
}

template <class Rates>
CalibrationInfo CalibrationStore::info_of(Entry<Rates> const& entry, KnownRates<Rates> const& known,
                                          std::span<RateField<Rates> const> fields) const {
  std::lock_guard const lock(mutex_);
  CalibrationInfo info;
  info.name = entry.subject.name;
  info.driver = entry.subject.driver;
  info.measured = known.measured;
  if (known.measured && folder_) info.file = (*folder_ / file_name(entry.subject)).string();
  info.note = entry.found.note;
  info.rates = list(known.rates, fields);
  return info;
}

}  // namespace garuda::rates
