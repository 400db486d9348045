#include "operators/rates/calibration_file.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

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
/// What is larger is not ours.
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

template <class Rates>
Found<Rates> read(fs::path const& folder, Subject const& subject) {
  auto const file = folder / file_name(subject);
  std::error_code error;
  if (!fs::exists(file, error)) return {};
  auto rates = read_own<Rates>(file, subject);
  if (rates) return {std::move(*rates), ""};
  return {std::nullopt, fmt::format("calibration ignored, {}: {}", rates.error().message(), file.string())};
}

template <class Rates>
Result<Rates> read_recorded(fs::path const& file) {
  GARUDA_TRY_ASSIGN(auto const json, read_document(file));
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

Found<DeviceRates> read_device(fs::path const& folder, Subject const& subject) {
  return read<DeviceRates>(folder, subject);
}

Found<HostRates> read_host(fs::path const& folder, Subject const& subject) { return read<HostRates>(folder, subject); }

Result<fs::path> write(fs::path const& folder, Subject const& subject, DeviceRates const& rates,
                       std::string const& source) {
  return write_document(folder / file_name(subject), document(subject, to_json(rates), source));
}

Result<fs::path> write(fs::path const& folder, Subject const& subject, HostRates const& rates,
                       std::string const& source) {
  return write_document(folder / file_name(subject), document(subject, to_json(rates), source));
}

Result<DeviceRates> read_recorded_device(fs::path const& file) { return read_recorded<DeviceRates>(file); }
Result<HostRates> read_recorded_host(fs::path const& file) { return read_recorded<HostRates>(file); }

}  // namespace garuda::rates
